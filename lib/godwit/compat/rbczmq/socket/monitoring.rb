# frozen_string_literal: true

module ZMQ
  class Socket
    # Calls the handler's on_connected, on_listening…, those that it has, from a thread of its own,
    # until the socket is closed.
    # @param endpoint [String] "inproc://…", a name that no other has
    # @param handler [Object, nil] nil: a Monitor
    # @param events [Integer, nil] of ZMQ::EVENT_…; nil: all
    # @return [Boolean] false when libzmq would not take the endpoint
    def monitor(endpoint, handler = nil, events = nil)
      alive!
      own_thread!
      own_process!
      Arguments.type(endpoint, String)
      Arguments.type(events, Integer) unless events.nil?
      names = Monitor.names(events || EVENT_ALL)
      unless endpoint.start_with?("inproc://") && names.any? && @context.acquire(endpoint, __id__)
        return false
      end
      feed = option { @inner.monitor(*names, :listening, :closed) }
      @feed&.close # libzmq has one monitor for a socket
      @feed = feed
      listen(feed, handler || Monitor.new, names, endpoint)
      true
    end

    private

    def listen(feed, handler, names, endpoint)
      context = @context
      id = __id__
      Thread.new do
        Monitor.follow(feed, handler, names)
      ensure
        context.release(endpoint, id)
      end
    end
  end
end
