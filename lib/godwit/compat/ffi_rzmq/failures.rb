# frozen_string_literal: true

module Godwit
  module Compat
    # The ffi-rzmq layer's own modules, which ffi-rzmq does not have.
    module FFIRzmq
      SOCKETS = WeakSet.new # all sockets that are open

      # Each thread has the errno of its last failure, as in libc.
      module Failures
        LAST = :godwit_ffi_rzmq_errno

        # The texts of libzmq's own errnos, of EHOSTUNREACH as libzmq has it, and of 0 (for JRuby).
        WORDS = {
          0 => "Success", Errno::EHOSTUNREACH::Errno => "Host unreachable",
          156_384_763 => "Operation cannot be accomplished in current state",
          156_384_764 => "The protocol is not compatible with the socket type",
          156_384_765 => "Context was terminated", 156_384_766 => "No thread available"
        }.freeze

        module_function

        def last = Thread.current.thread_variable_get(LAST) || 0

        def set_errno(errno)
          Thread.current.thread_variable_set(LAST, errno)
          -1
        end

        def errno_of(error)
          case error
          when TimeoutError, WouldBlock then Errno::EAGAIN::Errno
          when ForkedError then Errno::ENOTSOCK::Errno
          when GoneError then Errno::EFAULT::Errno
          else error.errno || Errno::EINVAL::Errno
          end
        end

        def words(errno) = WORDS[errno] || Errors.words(errno)
      end

      # libzmq's monitor, as programs use it: a PAIR that sends each event as two frames. The first
      # has the event (16 bits) and its value (32 bits), the second the endpoint.
      module Monitors
        module_function

        def start(socket, endpoint, events)
          return Failures.set_errno(::ZMQ::ENOTSOCK) unless socket&.godwit
          socket.monitor = nil
          return 0 unless endpoint
          kinds = Monitor::KINDS.select { |kind| events.anybits?(kind.bit) && kind.bit <= 0xffff }
          return Failures.set_errno(::ZMQ::EINVAL) if kinds.empty?
          pair = PAIR.new(context: socket.godwit.context, linger: 0, send_hwm: 0).bind(endpoint)
          monitor = socket.monitor = socket.godwit.monitor(*kinds.map(&:name))
          Thread.new { pass_on(monitor, pair, kinds.to_h { |kind| [kind.name, kind.bit] }) }
          0
        rescue Godwit::Error => error
          pair&.close
          socket.record(error)
        end

        def pass_on(monitor, pair, bits)
          Thread.current.report_on_exception = false
          Thread.current.name = "godwit monitor"
          monitor.each do |event|
            bit = bits[event.name]
            pair.send([[bit, event.value].pack("Sl"), event.endpoint]) if bit
          end
        rescue Godwit::Error
          nil # the socket is closed or its context is terminated
        ensure
          pair.close
        end
      end
    end
  end
end
