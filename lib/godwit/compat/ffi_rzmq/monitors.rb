# frozen_string_literal: true

module Godwit
  module Compat
    module FFIRzmq
      # libzmq's monitor as programs know it: a PAIR that sends each event as two frames, the event
      # (16 bits) with its value (32), and the endpoint.
      # @private
      module Monitors
        module_function

        # @return [Integer] 0 or -1
        def start(socket, endpoint, events)
          return Failures.note(::ZMQ::ENOTSOCK) unless socket&.godwit
          socket.monitor = nil
          return 0 unless endpoint
          kinds = Monitor::KINDS.select { |kind| events.anybits?(kind.bit) && kind.bit <= 0xffff }
          return Failures.note(::ZMQ::EINVAL) if kinds.empty?
          pair = PAIR.new(context: socket.godwit.context, linger: 0, send_hwm: 0).bind(endpoint)
          monitor = socket.monitor = socket.godwit.monitor(*kinds.map(&:name))
          Thread.new { pass_on(monitor, pair, kinds.to_h { |kind| [kind.name, kind.bit] }) }
          0
        rescue Godwit::Error => error
          pair&.close
          socket.note(error)
        end

        def pass_on(monitor, pair, bits)
          Thread.current.report_on_exception = false
          Thread.current.name = "godwit monitor"
          monitor.each do |event|
            bit = bits[event.name]
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
