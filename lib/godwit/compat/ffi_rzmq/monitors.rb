# frozen_string_literal: true

module Godwit
  module Compat
    module FFIRzmq
      # libzmq's monitor as programs know it: a PAIR that tells of events in two frames, the event
      # (16 bits) and its value (32), and the endpoint.
      # @private
      module Monitors
        module_function

        # @param socket [ZMQ::Socket, nil]
        # @return [Integer] 0 or -1
        def start(socket, endpoint, events)
          return Failures.note(::ZMQ::ENOTSOCK) unless socket&.godwit
          socket.end_monitor
          return 0 unless endpoint
          names =
            Monitor::KINDS
              .select { |kind| events.anybits?(kind.bit) && kind.bit <= 0xffff }
              .map(&:name)
          return Failures.note(::ZMQ::EINVAL) if names.empty?
          pair = PAIR.new(context: socket.godwit.context, linger: 0, send_hwm: 0).bind(endpoint)
          monitor = socket.godwit.monitor(*names)
          socket.note_monitor(monitor)
          Thread.new { pass_on(monitor, pair) }
          0
        rescue Godwit::Error => error
          pair&.close
          socket.note(error)
        end

        def pass_on(monitor, pair)
          Thread.current.report_on_exception = false
          Thread.current.name = "godwit monitor"
          monitor.each do |event|
            bit = Monitor::KINDS.find { |kind| kind.name == event.name }&.bit
            pair.send([[bit, event.value].pack("Sl"), event.endpoint]) if bit
          end
        rescue Godwit::Error
          nil # the socket or its context has ended
        ensure
          pair.close
        end
      end
    end
  end
end
