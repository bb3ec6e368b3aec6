# frozen_string_literal: true

module ZMQ
  EVENT_ALL = 0x3ff

  # The default handler of Socket#monitor; its callbacks do nothing. A handler may be of a subclass,
  # or any object with some of the callbacks. A callback gets the endpoint, and the event's value: a
  # descriptor, an errno, or milliseconds (connect_retried).
  class Monitor
    EVENTS = %i[
      connected connect_delayed connect_retried listening bind_failed accepted accept_failed closed
      close_failed disconnected
    ].freeze
    private_constant :EVENTS

    EVENTS.each_with_index do |event, bit|
      ZMQ.const_set(:"EVENT_#{event.upcase}", 1 << bit)
      define_method(:"on_#{event}") { |_endpoint, _value| }
    end

    class << self
      # @private -- and so are the methods below
      def names(mask) = EVENTS.select.with_index { |_, bit| mask.anybits?(1 << bit) }

      # Hands events to the handler until the socket is closed. libzmq's monitor ends before the
      # last events, "closed" of each bound endpoint, so this method makes these events.
      def follow(monitor, handler, names)
        listening = {}
        monitor.each do |event|
          listening[event.endpoint] = event.value if event.name == :listening
          listening.delete(event.endpoint) if event.name == :closed
          call(handler, event.name, event.endpoint, event.value) if names.include?(event.name)
        end
        return unless names.include?(:closed) && monitor.socket.closed?
        listening.each { |endpoint, descriptor| call(handler, :closed, endpoint, descriptor) }
      end

      private

      # If a handler raises, the handler gets the later events nevertheless.
      def call(handler, event, endpoint, value)
        callback = :"on_#{event}"
        return unless handler.respond_to?(callback)
        handler.public_send(callback, endpoint, value.is_a?(Integer) ? value : 0)
      rescue => error
        warn "#{callback} of a ZMQ monitor raised #{error.full_message(highlight: false)}"
      end
    end
  end

  class Socket
    # A thread calls the handler's on_connected, on_listening, …, until the socket is closed.
    # @param endpoint [String] "inproc://…", a name that no other monitor has
    # @param handler [Object, nil] an object with some of Monitor's callbacks; nil: a Monitor
    # @param events [Integer, nil] bits ZMQ::EVENT_…; nil: all events
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
      @monitor&.close # a libzmq socket has at most one monitor
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
