# frozen_string_literal: true

module ZMQ
  class Socket
    # A thread calls the handler's on_connected, on_listening, …, until the socket is closed.
    # @param endpoint [String] "inproc://…", a name that no other monitor has
    # @param handler [Object, nil] with some of Monitor's callbacks; nil: a Monitor
    # @param events [Integer, nil] of ZMQ::EVENT_…; nil: all
    # @return [Boolean] false when libzmq would refuse the endpoint
    def monitor(endpoint, handler = nil, events = nil)
      usable!
      Arguments.type(endpoint, String)
      Arguments.type(events, Integer) unless events.nil?
      names = Monitor.names(events || EVENT_ALL)
      return false unless endpoint.start_with?("inproc://") && names.any?
      context = @context
      id = __id__
      return false unless context.reserve_monitor(endpoint, id)
      monitor = translated { @godwit.monitor(*names, :listening, :closed) }
      @monitor&.close # libzmq has one monitor for a socket
      @monitor = monitor
      handler ||= Monitor.new
      Thread.new do
        Monitor.follow(monitor, handler, names)
      ensure
        context.release_monitor(endpoint, id)
      end
      true
    end
  end
end
