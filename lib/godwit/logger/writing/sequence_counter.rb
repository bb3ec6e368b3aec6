# frozen_string_literal: true

require "json"
require "securerandom"
require_relative "../wire/text"
require_relative "../wire/topic"

module Godwit
  class Logger < ::Logger
    # What all records of one writer, level and program name have in common, and their count.
    class Stream
      # @param prog [String, nil] the stream keeps it
      def initialize(level, prog, host, pid)
        @topic = Topic.build(level, prog && Text.utf8(prog), Text.utf8(host)).freeze
        @label = Levels.label(level)
        @prog = prog
        @pid = pid
        @before_thread = ",\"level\":#{level},\"pid\":#{pid},\"thread\":".freeze
        prog_field = ",\"prog\":#{JSON.generate(Text.utf8(prog))}" if prog
        @after_thread = ",\"host\":#{JSON.generate(Text.utf8(host))}#{prog_field}".freeze
        resume(@dropped = 0)
      end

      attr_reader :before_thread, :after_thread # fields of the header around the thread's number
      attr_reader :topic, :label, :prog, :pid, :tseq
      # Goes on after this number.
      def resume(tseq) = @tseq = @sent = tseq
      # Callers, without a lock: CRuby switches threads in no addition.
      def drop = @dropped += 1
      # The thread that encodes.
      def next_tseq = @tseq = (@sent += 1) + @dropped
    end
    private_constant :Stream

    # A writer's id, and the numbers of its records. Callers use {#stream}, {#drop} and {#dropped}
    # without a lock; all other methods are for the thread that encodes.
    class SequenceCounter
      # Topics of one writer id. A program that makes up names without end gets a new id, since the
      # counts of its old topics cannot all be kept.
      MAX_STREAMS = 10_000

      # @param writer [String, nil] 32 hexadecimal digits; nil: a new id
      def initialize(settings, writer: nil, seq: 0)
        @host = settings.host
        @pid = Process.pid
        @lock = Mutex.new
        @dropped = 0
        begin_as(writer || SecureRandom.hex(16), seq)
      end

      # The id, the last record's number, and the count of dropped records.
      attr_reader :writer, :seq, :dropped
      attr_reader :head # the start of each header, up to the seq

      def stream(level, prog)
        # The program's object need not be fit to be a Hash key.
        prog = Text.name(prog) unless ::String === prog || NilClass === prog
        @streams[level]&.[](prog) || new_stream(level, prog)
      end

      # A record of the stream will never be sent.
      def drop(stream)
        exclusively do
          stream.drop
          @dropped += 1
        end
      end

      def next_seq
        begin_as(SecureRandom.hex(16), 0) if @count > MAX_STREAMS
        @seq = (@sent += 1) + @dropped
      end

      private

      def begin_as(writer, seq)
        @writer = writer
        @head = "{\"v\":1,\"writer\":\"#{writer}\",\"seq\":".freeze
        @seq = seq
        @sent = seq - @dropped
        @streams = {}
        @count = 0
      end

      # Two threads may make the same stream at once; one of the two is kept.
      def new_stream(level, prog)
        return stream(::Logger::UNKNOWN, prog) unless level.is_a?(Integer)
        return stream(level, Text.name(prog)) unless prog.nil? || prog.instance_of?(String)
        # A cut name is longer than MAX_NAME, since it ends with the number of bytes cut.
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
        # CRuby switches threads in none of these blocks, and a trap handler cannot take a Mutex.
        def exclusively = yield
      end
    end
    private_constant :SequenceCounter
  end
end
