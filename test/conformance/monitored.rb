# frozen_string_literal: true

module Conformance
  # Opens sockets together with a Monitor.
  module Monitored
    # @return [Array(Godwit::Socket, Godwit::Monitor)]
    def monitored(type, *events, **options)
      socket = open_socket(type, **options)
      [socket, own_monitor(socket.monitor(*events))]
    end

    # Closes the monitor at the end of the test.
    def own_monitor(monitor)
      (@monitors ||= []) << monitor
      monitor
    end

    # Reads events until the event of this name.
    # @return [Array<Godwit::Monitor::Event>] all events up to and including that one
    def until_event(monitor, name)
      reported = []
      reported << monitor.next_event(timeout: 10) until reported.last&.name == name
      reported
    rescue Godwit::Error => error
      flunk "#{name} never came: #{error.message}; what came: #{reported.join(", ")}"
    end

    def teardown
      @monitors&.each(&:close)
      super
    end
  end
end
