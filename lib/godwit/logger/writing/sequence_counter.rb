# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # A writer's id, the sequence numbers (seqs) of its records, and the number of records that are
    # never sent, whose seqs readers miss. {report} makes the record that explains these gaps.
    #
    # Any caller may use {stream} and the counts, also in a trap handler: they need no lock. Only
    # the thread that encodes calls the other methods.
    class SequenceCounter
      # Most topics of one writer id. A program that makes up program names without end gets a new
      # id, since the counts of its old topics cannot all be retained.
      MAX_STREAMS = 10_000

      # @param writer [String, nil] 32 hexadecimal digits; nil: a new id
      def initialize(settings, writer: nil, seq: 0)
        @host = settings.host
        @pid = Process.pid
        @lock = Mutex.new
        @dropped = @failed = @late = @reported = 0
        @first = @last_stream = nil
        begin_as(writer || SecureRandom.hex(16), seq)
      end

      attr_reader :writer, :seq # the id, and the number of the last record
      attr_reader :before_seq # the text before the seq in each header

      def stream(level, prog)
        # A program name that is no String may be unusable as a key of a Hash.
        prog = Text.name(prog) unless ::String === prog || NilClass === prog
        @streams[level]&.[](prog) || new_stream(level, prog)
      end

      def next_seq
        begin_as(SecureRandom.hex(16), 0) if @count > MAX_STREAMS
        @seq = (@sent += 1) + @dropped
      end

      # Counts a record that the full queue refused or removed.
      def drop(stream)
        remember(stream)
        exclusively do
          stream.drop
          @dropped += 1
        end
      end

      # Counts a record that has a number but could not be stored.
      def fail(stream)
        remember(stream)
        @failed += 1
      end

      # @param records [Integer] lost records that an earlier writer had stored
      def inherit(records) = @failed += records
      # Counts a record that was logged after the close.
      def late = @late += 1
      def dropped = missing + @late
      def unreported? = missing != @reported

      # @yieldparam entry [Entry] the record's entry, "dropped 12 in 0.5 s"
      def report(now)
        count = missing
        yield entry(count - @reported, now - (@first || now))
        @reported = count
        @first = nil
      end

      private

      def missing = @dropped + @failed

      def remember(stream)
        @first ||= Timeout.now
        @last_stream = stream
      end

      def entry(count, seconds)
        stream = stream(::Logger::WARN, @last_stream&.prog)
        Entry.now(stream, Thread.current.object_id).tap do |entry|
          entry.text = format("dropped %d in %.1f s", count, seconds)
          entry.payload = Text.field("payload", {dropped: count, seconds: seconds.round(3)})
        end
      end

      def begin_as(writer, seq)
        @writer = writer
        @before_seq = Header.before_seq(writer)
        @seq = seq
        @sent = seq - @dropped
        @streams = {}
        @count = 0
      end

      # Two threads may make the same stream at once; then both get the stream that came first.
      def new_stream(level, prog)
        return stream(::Logger::UNKNOWN, prog) unless level.is_a?(Integer)
        return stream(level, Text.name(prog)) unless prog.nil? || prog.instance_of?(String)
        # A name that was cut may exceed MAX_NAME by the text that states the number of bytes cut.
        if prog && prog.bytesize > Text::MAX_NAME + 64
          return stream(level, Text.cut(prog, Text::MAX_NAME))
        end
        fresh = Stream.new(level, prog&.dup, @host, @pid)
        exclusively do
          @count += 1
          table = (@streams[level] ||= {})
          table[prog] ||= fresh
        end
      end

      if RUBY_ENGINE == "jruby"
        def exclusively(&block) = @lock.synchronize(&block)
      else
        # CRuby switches threads in none of these blocks, and a trap handler cannot lock a mutex.
        def exclusively = yield
      end
    end
    private_constant :SequenceCounter
  end
end
