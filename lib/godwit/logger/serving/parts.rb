# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    class Broadcaster
      # Checks of arguments, and making, starting, draining and closing the parts.

      # The numbers of Statistics#totals and of a writer, in order; those of each level follow.
      TOTALS = %w[messages bytes records plain foreign lost late writers forgotten kept].freeze
      WRITER = %w[writer prog host first last received lost late bytes lag longest_lag idle].freeze
      private_constant :TOTALS, :WRITER

      private

      def check(last, bytes, sink, on_foreign)
        unless last.is_a?(Integer) && last.between?(0, MAX_LAST)
          raise Errors.bad_value(:broadcaster, "last:", "a number, 0 to 1,000,000", last)
        end
        unless bytes.is_a?(Integer) && bytes.between?(0, MAX_BYTES)
          raise Errors.bad_value(:broadcaster, "last_bytes:", "bytes, 0 to 1 GiB", bytes)
        end
        unless sink.nil? || sink.respond_to?(:write)
          raise Errors.bad_type(:broadcaster, "sink:", "an object with write, or nil", sink)
        end
        return if on_foreign.nil? || on_foreign.respond_to?(:call)
        raise Errors.bad_type(:broadcaster, "on_foreign:", "a callable object, or nil", on_foreign)
      end

      def check_count(operation, name, count)
        return if count.is_a?(Integer) && !count.negative?
        raise Errors.bad_value(operation, name, "a number, 0 or more", count)
      end

      def bind(type, endpoints, **options)
        socket = type.new(**@options, **options)
        @owned << socket
        socket.bind(*endpoints) if endpoints
        socket
      end

      def begin_helpers
        @begun = true
        @sink_thread&.start
        @control&.start
      end

      # The proxy passes the messages on, as it may hold one.
      def drain(finish)
        @proxy.start unless @proxy.running?
        before = nil
        until Timeout.now > finish
          statistics = @proxy.statistics
          now = [statistics.frontend.received, statistics.backend.sent]
          if now == before && now.uniq.one? # no message came, and none waits for the sink
            @proxy.close
            return unless @input.wait_readable(0)
            @proxy.start
          end
          before = now
          @proxy.wait(QUIET)
        end
      rescue Error
        nil # the context is closed
      end

      def named(names, values)
        levels = Levels::LABELS.zip(values.drop(names.size)).to_h
        {**names.zip(values).to_h, "levels" => levels}
      end

      # With seconds instead of nanoseconds (lags) and milliseconds (idle).
      def writer(values)
        report = named(WRITER, values)
        %w[prog host].each { |name| report[name] = Topic.unescape(report[name]) }
        %w[lag longest_lag].each { |name| report[name] /= 1e9 }
        report["idle"] /= 1e3
        report
      end

      def remembered(most) = @passed.messages(most).map { |frames| Record.parse(frames) }

      def release
        @owned.each(&:close)
        @sink_thread&.release
        nil
      end
    end
  end
end
