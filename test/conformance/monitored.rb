# frozen_string_literal: true

module Conformance
  # Sockets with a Monitor.
  module Monitored
    # @return [Array(Godwit::Socket, Godwit::Monitor)]
    def monitored(type, *events, **options)
      socket = open_socket(type, **options)
      [socket, own_monitor(socket.monitor(*events))]
    end

    # A Monitor ends with its socket; this closes a monitor that a test leaves open while the socket
    # lives.
    def own_monitor(monitor)
      (@monitors ||= []) << monitor
      monitor
    end

    # Reads until this event has come.
    # @return [Array<Godwit::Monitor::Event>] all events up to it
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
