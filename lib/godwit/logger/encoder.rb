# frozen_string_literal: true

require "json"
require "securerandom"
require_relative "stream"
require_relative "text"

module Godwit
  class Logger < ::Logger
    # From entries to what goes over the wire: a packed record, or a line. It numbers the records,
    # so the thread that sends is the only one that uses it; callers use {#stream}, {#drop} and
    # {#dropped}, without a lock.
    #
    # An entry is an Array: stream, t_ns, mono_ns, thread, text, tags, payload, error. The last
    # three are nil or what stands in the header for them, with key and comma; {LINE} for `error`
    # says that the text is a formatter's whole line.
    # @private
    class Encoder
      LINE = :line
      # Topics of one writer id. A program that makes up names for ever gets a new id, since counts
      # of old ones cannot be kept for ever.
      MOST_STREAMS = 10_000

      # @param writer [String, nil] 32 hexadecimal digits; nil: a new one
      # @param seq [Integer] number of the record before the first
      def initialize(settings, writer: nil, seq: 0)
        @plain = settings.plain?
        @host = settings.host
        @pid = Process.pid
        @guard = Mutex.new
        @dropped = 0
        begin_as(writer || SecureRandom.hex(16), seq)
      end

      # @return [String] 32 hexadecimal digits
      attr_reader :writer
      # @return [Integer] of the last record
      attr_reader :seq
      # @return [Integer] how many were dropped
      attr_reader :dropped

      # @param level [Integer]
      # @param prog [Object, nil] progname
      # @return [Stream]
      def stream(level, prog)
        # It need not be fit for a Hash's key.
        prog = Text.name(prog) unless ::String === prog || NilClass === prog
        @streams[level]&.[](prog) || new_stream(level, prog)
      end

      # A record of the stream will never be sent.
      def drop(stream)
        alone do
          stream.drop
          @dropped += 1
        end
      end

      # @param entry [Array]
      # @return [String, Array(String)] a packed record (see {Packing}), or a line's only frame
      def encode(entry)
        stream, t_ns, mono_ns, thread, text, tags, payload, error = entry
        begin_as(SecureRandom.hex(16), 0) if @count > MOST_STREAMS
        return [line(stream, t_ns, text, error)] if @plain
        if @dropped != @counted
          dropped = @dropped
          @seq += dropped - @counted
          @counted = dropped
        end
        Native::Packing.record(
          @head, @seq += 1, stream.next_tseq, stream.topic, stream.before_thread,
          stream.after_thread, t_ns, mono_ns, thread, Text.utf8(text), tags, payload, error
        )
      end

      private

      def begin_as(writer, seq)
        @writer = writer
        @head = "{\"v\":1,\"writer\":\"#{writer}\",\"seq\":".freeze
        @seq = seq
        @counted = @dropped
        @streams = {}
        @count = 0
      end

      # Two threads may make one at once; one is kept. (CRuby changes threads in none of the last
      # two lines.)
      def new_stream(level, prog)
        return stream(::Logger::UNKNOWN, prog) unless level.is_a?(Integer)
        return stream(level, Text.name(prog)) unless prog.nil? || prog.instance_of?(String)
        # What is cut says so.
        if prog && prog.bytesize > Text::MOST_NAME + 64
          return stream(level, Text.cut(prog, Text::MOST_NAME))
        end
        fresh = Stream.new(level, prog&.dup, @host, @pid)
        alone do
          @count += 1
          table = (@streams[level] ||= {})
          table[prog] ||= fresh
        end
      end

      # The formatter's line, which rsyslog and others would cut at a NUL. Ruby's own formatter
      # spends most of its time on the time: here that is made once in a second.
      def line(stream, t_ns, text, error)
        text = Text.utf8(text)
        unless error == LINE
          second = t_ns / 1_000_000_000
          unless second == @second
            @stamp = Time.at(second).strftime("%Y-%m-%dT%H:%M:%S.").freeze
            @second = second
          end
          micros = (t_ns / 1000 % 1_000_000 + 1_000_000).to_s.byteslice(1, 6)
          text = "#{stream.line_head}#{@stamp}#{micros}#{stream.line_middle}#{text}"
        end
        text.include?("\0") ? text.delete("\0") : text
      end

      if RUBY_ENGINE == "jruby"
        def alone(&block) = @guard.synchronize(&block)
      else
        # No call that could change threads stands in such a block, and a Mutex cannot be had in a
        # trap handler.
        def alone = yield
      end
    end
    private_constant :Encoder
  end
end
