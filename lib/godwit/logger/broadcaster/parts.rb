# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    class Broadcaster
      # The parts of a broadcaster: it makes, starts, empties and closes them.

      private

      def check(last, bytes, sink, on_foreign)
        unless last.is_a?(Integer) && last.between?(0, MOST_LAST)
          raise Errors.bad_value(:broadcaster, "last:", "a number, 0 to 1,000,000", last)
        end
        unless bytes.is_a?(Integer) && bytes.between?(0, MOST_BYTES)
          raise Errors.bad_value(:broadcaster, "last_bytes:", "bytes, 0 to 1 GiB", bytes)
        end
        unless sink.nil? || sink.respond_to?(:write)
          raise Errors.bad_type(:broadcaster, "sink:", "what has a method write, or nil", sink)
        end
        unless on_foreign.nil? || on_foreign.respond_to?(:call)
          raise Errors.bad_type(
            :broadcaster, "on_foreign:", "what can be called with a message, or nil", on_foreign
          )
        end
      end

      def bind(type, endpoints, **options)
        type.new(**@options, **options).tap do |socket|
          @owned << socket
          socket.bind(*endpoints) if endpoints
        end
      end

      def build_proxy(last, bytes)
        @began = Timeout.now
        @passed = Native::Statistics.new.open(last, bytes, MOST_WRITERS)
        @proxy = Proxy.new(@input, @output, capture: @sink_thread&.socket)
        @proxy.__send__(:_observe, @passed)
      end

      def begin_helpers
        @begun = true
        @sink_thread&.start
        @control&.start
      end

      # The proxy does it, as it may have one in its hand.
      def drain(finish)
        @proxy.start unless @proxy.running?
        before = nil
        until Timeout.now > finish
          now =
            @proxy.statistics.then do |statistics|
              [statistics.frontend.received, statistics.backend.sent]
            end
          if now == before && now.uniq.one? # nothing came, and nothing waits for the sink
            @proxy.close
            return unless @input.wait_readable(0)
            @proxy.start
          end
          before = now
          @proxy.wait(QUIET)
        end
      rescue Error
        nil # the context is gone
      end

      def remembered(most) = @passed.messages(most).map { |frames| Record.parse(frames) }

      def forked? = @input.__send__(:_forked?)

      def release
        @owned.each(&:close)
        @sink_thread&.release
        nil
      end
    end
  end
end
