# frozen_string_literal: true

require "json"
require_relative "../../logger"
require_relative "header"
require_relative "topic"
require_relative "lines"

module Godwit
  class Logger < ::Logger
    # One record, as a reader gets it: three frames, or one line of a plain writer (Ruby's Logger
    # over a socket, rbczmq's `ZMQ::Logger`, rsyslog).
    #
    # The frames are topic, header, text. The header is one JSON object in UTF-8 with {KEYS}, in the
    # order in which Godwit writes them, without nil and empty values. Level, program and host come
    # from the topic, the numbers at the header's beginning need no JSON parser. The first call of
    # any other method parses the header.
    #
    # **Threads**: several may read one record; it never changes.
    class Record
      # v: 1; writer: 32 hexadecimal digits; seq, tseq: from 1, see {#seq} and {#tseq}; t_ns:
      # nanoseconds since 1970; mono_ns: of the writer's monotonic clock; error: an object of class,
      # message, backtrace, causes.
      KEYS = %w[v writer seq tseq t_ns mono_ns level pid thread host prog tags payload error].freeze
      WRITER_AT = 17 # offset of the writer's id in a header that Godwit writes
      WRITER_DIGITS = 2 * Constants::LOG_ID_BYTES
      # A line as Ruby's Logger formats it.
      RUBY_LINE =
        /\A([DIWEFA]), \[(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}) #(\d+)\] +[A-Z]+ -- (.*?): (.*)\z/m
      LINES = Lines.new
      private_constant :LINES, :RUBY_LINE, :WRITER_AT, :WRITER_DIGITS

      class << self
        # @param frames [Array<String>, String] a message of one record as
        #   {Godwit::Socket::Messages#recv} gives it; see {parse_all}
        # @param topics [Hash, nil] within Godwit: a `Topic.memory`, for parsing many records faster
        # @return [Record, nil] nil when it is neither a record nor a line
        def parse(frames, topics = nil)
          return new([frames], nil, nil) if frames.is_a?(String)
          return (new(frames, nil, nil) if frames.size == 1) if frames.size != 3
          topic = frames[0]
          where = topics ? topics[topic] : Topic.where(topic)
          return unless where
          seq = Native::Header.seq(frames[1])
          record = new(frames, where, seq)
          record if seq || record.head
        # The socket's `encoding:` is not binary, and the bytes are invalid in it.
        rescue ArgumentError, Encoding::CompatibilityError
          parse(frames.map(&:b), topics)
        end

        # The records of a message, of which a writer may send several together.
        # @param message [Array<String>, String] a message as {Godwit::Socket::Messages#recv}
        #   gives it
        # @return [Array<Record>] empty when it is neither a record, nor a line, nor a batch
        def parse_all(message)
          (Native::Packing.split(message) || [message]).filter_map { |frames| parse(frames) }
        end

        # @private
        # Faster than {parse} where only the writer matters.
        # @param frames [Array<String>, String] as {parse} takes them
        # @return [String, nil] as {#writer}; nil when it is no record
        def writer_of(frames)
          return unless frames.is_a?(Array) && frames.size == 3
          ours = frames[1].encoding == Encoding::BINARY && Native::Header.seq(frames[1])
          ours ? frames[1].byteslice(WRITER_AT, WRITER_DIGITS) : parse(frames)&.writer
        end
      end

      # @private
      def initialize(frames, where, own_seq)
        @frames = frames # three instance variables fit into the object itself
        @where = where
        @own_seq = own_seq # nil: the header does not begin as Godwit writes it
      end

      # @return [Boolean] whether it is a line of a plain writer: it has no {#seq}; level, program
      #   and time come from the line, if that has the format of Ruby's Logger
      def plain? = @frames.size == 1
      # @private
      # @return [Boolean] whether the header begins as Godwit writes it
      def ours? = !@own_seq.nil?
      # @return [String, nil] id of the writer, 32 hexadecimal digits; each process has its own
      def writer = @own_seq ? @frames[1].byteslice(WRITER_AT, WRITER_DIGITS) : head && head[0]
      # @return [Integer, nil] number of the writer's record, from 1; dropped records count too
      def seq = @own_seq || (head && head[1])
      # @return [Integer, nil] number of the writer's record in this topic, so that a subscriber of
      #   some topics sees gaps in them
      def tseq = @own_seq ? after(',"tseq":') : head && head[2]
      # @return [Integer] 0 (debug) to 5 (unknown), as in ::Logger
      def level = where[3]
      # @return [String] DEBUG, INFO, WARN, ERROR, FATAL, ANY
      def label = where[0]
      # @return [String, nil] progname
      def prog = where[1]
      # @return [String, nil]
      def host = where[2]
      # @return [String] the message, in UTF-8; invalid bytes are replaced
      def text = @shown ||= utf8((plain? && line) ? line[5] : @frames.last)

      # @return [Time, nil] when it was written, by the writer's clock, in this process's time zone
      def time
        return @time if defined?(@time)
        return @time = line && line_time if plain?
        ns = t_ns
        @time = ns && Time.at(ns / 1_000_000_000, ns % 1_000_000_000, :nsec)
      end

      # @return [Integer, nil] nanoseconds since 1970
      def t_ns = @own_seq ? after(',"t_ns":') : head && head[3]
      # @return [Integer, nil] nanoseconds of the monotonic clock of the writer's machine
      def mono_ns = integer("mono_ns")
      # @return [Integer, nil] process id
      def pid = plain? ? line && line[3].to_i : integer("pid")
      # @return [Integer, String, nil] thread id, or what a foreign writer sent
      def thread = data["thread"]
      # @return [Array] such as ["req-9"]
      def tags = data["tags"].is_a?(Array) ? data["tags"] : []
      # @return [Hash, Object, nil] the payload besides the text; keys are Strings
      def payload = data["payload"]
      # @return [Hash, nil] class, message, backtrace (Array of Strings), causes (Array of Hashes)
      def error = data["error"].is_a?(Hash) ? data["error"] : nil
      # @return [Hash] the whole header; empty for a plain line
      def data = @data ||= plain? ? {} : parsed

      # The line that Ruby's Logger would have written, with a newline; a plain line as it came. An
      # error beside the text follows the text's first line.
      # @return [String] UTF-8
      def to_s
        return "#{utf8(@frames.first).chomp}\n" if plain?
        "#{LINES.build(label, t_ns, pid || 0, prog, text_with_error)}\n"
      end

      # @private
      # @return [String] the text with class, message and place of an error beside it
      def text_with_error
        return text if plain? || !@frames[1].include?('"error":') || !error
        rest = ErrorText.after(text, error)
        return ErrorText.insert(text, [ErrorText.line(error)]) unless rest
        rest.empty? ? ErrorText.line(error) : text # Ruby's lines of an error have all of it
      end

      # @return [Hash] the header and `text`, as `--json` prints them
      def to_h
        return data.merge("text" => text) unless plain?
        {"plain" => true, "level" => level, "prog" => prog, "pid" => pid, "text" => text}.compact
      end

      # @param arguments [Array] of JSON's generator
      # @return [String] a JSON object
      def to_json(*arguments) = to_h.to_json(*arguments)
      # @return [Array<String>] the frames as received
      attr_reader :frames
      # @return [Array] label, program, text, for pattern matching
      def deconstruct = [label, prog, text]

      # Keys of {#deconstruct_keys}.
      NAMES = %i[level label prog host pid thread time text tags payload error writer seq].freeze
      private_constant :NAMES

      # @param keys [Array<Symbol>, nil] nil: all
      # @return [Hash]
      def deconstruct_keys(keys)
        ((keys || NAMES) & NAMES).to_h { |name| [name, public_send(name)] }
      end

      # @return [String]
      def inspect
        id = plain? ? "plain" : "#{writer}:#{seq}"
        "#<#{self.class.name} #{id} #{label} #{prog.inspect} #{text.inspect}>"
      end

      # @private
      # @return [Array, nil] writer, seq, tseq, t_ns of a header in another order; nil for a line
      def head
        return if plain?
        @head ||= begin
          values = data.values_at("writer", "seq", "tseq", "t_ns")
          writer, *numbers = values
          numbered = numbers.all?(Integer) && numbers.first(2).all?(&:positive?)
          values if numbered && writer.is_a?(String)
        end
      end

      private

      # [label, program, host, level]
      def where
        @where ||= begin
          level = line ? Levels.of_line(line[0]) : 5
          [Levels::LABELS[level], line && utf8(line[4]), nil, level]
        end
      end

      def after(key)
        header = @frames[1]
        from = header.index(key, Header::SEQ_AT) + key.size
        header.byteslice(from, Header::DIGITS).to_i
      end

      def line
        return @line if defined?(@line)
        @line = (RUBY_LINE.match(utf8(@frames.first).chomp) if plain?)
      end

      def line_time
        Time.new(*line[2].scan(/\d+/).first(5).map(&:to_i), line[2][17..].to_r)
      rescue ArgumentError
        nil
      end

      def parsed
        value = JSON.parse(utf8(@frames[1]), max_nesting: Constants::LOG_NESTING)
        value.is_a?(Hash) ? value : {}
      rescue JSON::ParserError
        {}
      end

      def integer(key) = data[key].is_a?(Integer) ? data[key] : nil

      def utf8(text)
        text = text.dup.force_encoding(Encoding::UTF_8)
        text.valid_encoding? ? text : text.scrub
      end
    end
  end
end
