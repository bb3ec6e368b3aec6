# frozen_string_literal: true

require "securerandom"
require_relative "../warnings"

module Godwit
  class Logger < ::Logger
    class Broadcaster
      # Hands what the proxy captures to a sink and to `on_foreign:`, on its own thread. The proxy
      # and the thread are connected by two sockets, whose high-water marks slow down the proxy.
      class SinkThread
        BATCH = 256 # high-water mark of each socket, and most records in one write
        CLOSE_TIMEOUT = 3 # seconds that close waits for a sink without a method `close_timeout`
        attr_reader :socket # gets the captured messages

        def initialize(sink, context, on_foreign)
          @sink = sink
          @on_foreign = on_foreign
          @warnings = Warnings.new(name(sink))
          @written = @failed = 0
          @last = ["end of stream", SecureRandom.hex(16)].freeze # a message that no writer can send
          endpoint = "inproc://godwit-sink-#{object_id}-#{Process.pid}"
          @socket = PUSH.bind(endpoint, context: context, send_hwm: BATCH, linger: 0)
          @source = PULL.connect(@socket.last_endpoint, context: context, recv_hwm: BATCH)
        end

        # A second call does nothing.
        def start = @thread ||= Worker.new { work }.tap { |thread| thread.name = "godwit log sink" }

        # Called after the proxy has ended: writes what was captured, and closes the sink.
        def close
          return if @source.closed?
          return close_sink unless @thread
          finish = Timeout.now + close_timeout
          @socket.send(@last, timeout: close_timeout, exception: false)
          give_up unless @thread.join([finish - Timeout.now, 0].max)
        rescue ClosedError, ContextTerminatedError
          @thread.join(close_timeout) # the same error ends it
        end

        def release
          @socket.close
          @source.close
        end

        def to_h = @sink && {"written" => @written, "failed" => @failed, "error" => @error&.message}

        private

        def close_timeout = @sink.respond_to?(:close_timeout) ? @sink.close_timeout : CLOSE_TIMEOUT

        # The records that the sink has not finished, and those that wait for it, are lost.
        def give_up
          records = @batch_size.to_i - (sink_written - @before.to_i)
          while (message = @source.recv_nonblock(exception: false)) != :wait_readable
            records += 1 if message != @last && Record.parse(message)
          end
          @failed += records
          lost = Text.count(records, "is", "are")
          text = "it did not end within #{close_timeout} s; #{lost} lost"
          @error = TimeoutError.new(text, operation: :close)
          @warnings.call(text, always: true)
        end

        def sink_written = @sink.respond_to?(:written) ? @sink.written : 0

        def name(sink)
          return "a broadcaster" unless sink
          sink.respond_to?(:path) ? sink.path : "the sink, a #{sink.class}"
        end

        def work
          Thread.current.report_on_exception = false
          memory = Topic.memory
          last = false
          until last
            messages = @source.recv_many(BATCH)
            messages.pop if (last = messages.last == @last)
            records = messages.filter_map { |one| Record.parse(one, memory) || foreign(one) }
            write(records) if @sink && records.any?
          end
        rescue ClosedError, ContextTerminatedError
          nil # its records are lost, as those in the socket
        ensure
          close_sink
        end

        def foreign(message)
          @on_foreign&.call(message)
          nil
        rescue => error
          warn_of(error)
          nil
        end

        def warn_of(error, more = "", always: false)
          @warnings.call("#{error.message} (#{error.class})#{more}", always: always)
        end

        def write(records)
          @before = sink_written
          @batch_size = records.size
          @sink.write(records)
          @written += records.size
        rescue => error
          went = error.is_a?(Error) ? error.sent.to_i : 0
          @written += went
          @failed += records.size - went
          @error = error
          warn_of(error, "; #{@failed} records were not written so far")
        ensure
          @batch_size = 0
          @before = sink_written
        end

        def close_sink
          @sink.close if @sink.respond_to?(:close)
        rescue => error
          @error = error
          warn_of(error, " at its end", always: true)
        end
      end
      private_constant :SinkThread
    end
  end
end
