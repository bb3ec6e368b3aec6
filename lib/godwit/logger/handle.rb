# frozen_string_literal: true

require_relative "warnings"
require_relative "push_transport"
require_relative "text"
require_relative "writer"
require_relative "durable/writer"
require_relative "spool_transport"

module Godwit
  class Logger < ::Logger
    # What a logger and its clones share: the writer of the process that they are in. A forked child
    # gets its own when it logs first.
    # @private
    class Handle
      # @param settings [Settings]
      def initialize(settings)
        @settings = settings
        @warnings = Warnings.new(settings.endpoint)
        @reopening = Mutex.new
        @earlier = [] # stats of the writers that {#reopen} ended
        @held = [new_writer]
        # The finalizer must hold what changes, not the handle.
        ObjectSpace.define_finalizer(self, self.class.__send__(:finalizer, @held))
        # So that an address, or a folder, in use is told at once.
        start if settings.bind? || settings.durable
      end

      class << self
        private

        # The collector must not wait for linger. One that never began has nothing to send; and at
        # the process's end no thread can begin.
        def finalizer(held)
          proc do
            held[0].then do |writer|
              Thread.new { writer.close } if writer.at_work? && writer.alive?
            end
          end
        end
      end

      attr_reader :settings

      # Nothing here rescues but what stands around the program's own methods: an error that another
      # thread raises into this one is the program's.
      # @param level [Integer]
      # @param message [Object]
      # @param payload [Hash, nil]
      # @param formatter [#call, nil]
      # @return [Boolean, nil] true, unless it is durable: then whether it is on the disk; nil: a
      #   trap handler's, which is there in a moment
      def record(level, prog, message, payload, formatter)
        writer = @held[0]
        writer = renew(writer) unless writer.alive?
        return reopened? ? record(level, prog, message, payload, formatter) : late if writer.closed?
        t_ns = Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)
        mono_ns = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
        stream = writer.encoder.stream(level, prog)
        if payload
          given, payload = error_in(payload)
          error = Text.error_field(given) if given
        end
        if raw?(formatter)
          text = Text.of(message)
          case message
          when ::String # the usual one
          when ::Exception then error ||= Text.error_field(message)
          when ::Hash then payload ||= message
          end
        else
          text, formatted_error = formatted(formatter, stream.label, t_ns, prog, message)
          error = formatted_error if formatted_error
        end
        text = Text.cut(text) if text.bytesize > Text::MOST_BYTES
        if @settings.plain?
          payload = nil # a line has no place for it
        else
          tags = tags_field(formatter) if formatter
          payload &&= Text.field("payload", payload)
        end
        bytes = text.bytesize
        bytes += tags.bytesize if tags
        bytes += payload.bytesize if payload
        bytes += error.size if error
        stored = writer.push([stream, t_ns, mono_ns, thread_id, text, tags, payload, error], bytes)
        return record(level, prog, message, payload, formatter) if stored == :sealed
        !@settings.durable || stored
      rescue DurableWriter::Interruption => interruption
        raise interruption.cause
      end

      # A text that no formatter shall see.
      def raw(level, prog, text)
        record(level, prog, text, nil, @settings.plain? ? AS_IT_IS : nil)
      end

      AS_IT_IS = ->(_, _, _, text) { text }
      private_constant :AS_IT_IS

      # @param seconds [Numeric, nil]
      # @return [Boolean]
      def flush(seconds)
        Timeout.milliseconds(seconds) # refuses what is no duration
        @held[0].flush((seconds if seconds && seconds < Timeout::MOST))
      end

      # @return [Stats]
      def stats
        [*@earlier, @held[0].stats].reduce do |sum, one|
          Stats.new(
            queued: one.queued, sent: sum.sent + one.sent, dropped: sum.dropped + one.dropped,
            spooled: one.spooled, last_error: one.last_error || sum.last_error
          )
        end
      end

      # @return [Writer] the last, maybe of the parent process
      def writer = @held[0]

      def close
        @closed = true
        @held[0].close
      end

      # Nobody will use it: what it holds is free at once.
      def abandon = @held[0].close(Timeout.now, 0)

      def closed? = @closed ? true : false

      # @param settings [Settings, nil] where to from now on
      def reopen(settings = nil)
        move(settings) if settings
        Thread.handle_interrupt(Object => :never) { @held[0] = new_writer if @held[0].closed? }
        @closed = false
      end

      private

      # The writer's thread is not alive: it has not begun, was killed, is that of a parent process,
      # or the process was about to end.
      def renew(writer)
        return writer if @closed || Exit.past?
        if !writer.own? || writer.closed?
          Thread.handle_interrupt(Object => :never) do # it holds a folder, maybe
            fresh = new_writer
            fresh.inherit(writer) if writer.own?
            # CRuby changes no threads before the second.
            @held[0].equal?(writer) ? @held[0] = fresh : fresh.close
          end
          writer = @held[0]
        end
        writer.start
        (writer.closed? && !@closed) ? renew(writer) : writer # its folder was deleted
      rescue ThreadError, SystemCallError, NoMemoryError => error # no thread to be had
        @warnings.call("records wait: #{error.message} (#{error.class})")
        writer
      end

      # Where the new writer needs nothing of the old one, it is there before that ends; else
      # callers wait for the end.
      # @raise [ThreadError] in a trap handler, in the midst of another's
      def move(settings)
        @reopening.try_lock || @reopening.lock
        warnings = Warnings.new(settings.endpoint)
        former = @held[0]
        fresh = new_writer(settings, warnings) unless settings.bind? || settings.durable
        # first: what another thread begins anew begins there
        @settings, @warnings = settings, warnings
        @held[0] = fresh if fresh
        former.close
        Thread.handle_interrupt(Object => :never) { @held[0] = new_writer if @held[0].closed? }
        @earlier = [*@earlier, former.stats]
      ensure
        @reopening.unlock if @reopening.owned?
      end

      # Waits for a {#reopen} in another thread.
      # @return [Boolean] whether there is another writer
      def reopened?
        return false unless @reopening.locked? && !@reopening.owned?
        @reopening.synchronize { !@held[0].closed? }
      rescue ThreadError
        false # a trap handler
      end

      def new_writer(settings = @settings, warnings = @warnings)
        return DurableWriter.new(settings, warnings) if settings.durable
        Writer.new(
          settings,
          warnings,
          (
            if settings.overflow == :spool
              SpoolTransport.new(settings, warnings)
            else
              PushTransport.new(settings)
            end
          )
        )
      end

      def start
        @held[0].transport.open
        @held[0].start
      end

      def late
        @held[0].count_late
        @warnings.call("it is closed: records are dropped")
        !@settings.durable
      end

      # JRuby's asks for the address of this host's name each time, which may take seconds, and
      # gives the process's number.
      if RUBY_ENGINE != "jruby" && Thread.method_defined?(:native_thread_id)
        def thread_id = Thread.current.native_thread_id
      else
        def thread_id = Thread.current.object_id
      end
    end
    private_constant :Handle
  end
end
require_relative "handle/formatting"
