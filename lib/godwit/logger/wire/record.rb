# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # One record, as a reader gets it: three frames, or one line of a plain writer (Ruby's Logger
    # over a socket, rbczmq's `ZMQ::Logger`, rsyslog).
    #
    # The frames are topic, header, text. The header is one JSON object in UTF-8 (docs/log-wire.md).
    # Level, program and host come from the topic, writer and numbers from the header's beginning.
    # The first call of any other method parses the whole header.
    #
    # **Threads**: several may read one record; a record never changes.
    class Record
      # The keys of a header, in the order in which Godwit writes them.
      KEYS = Header::KEYS
      # The form of the time in lines of Ruby's Logger, unless its datetime_format changes it.
      LINE_TIME = /\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\z/
      LINES = Lines.new
      private_constant :LINES, :LINE_TIME

      class << self
        # @param frames [Array<String>, String] a message of one record as
        #   {Godwit::Socket::Messages#recv} returns it; see {parse_all}
        # @param topics [Hash, nil] within Godwit: a `Topic.memory`, which makes many calls faster
        # @return [Record, nil] nil when the message is neither a record nor a line
        def parse(frames, topics = nil)
          return new([frames], nil, nil) if frames.is_a?(String)
          return (new(frames, nil, nil) if frames.size == 1) if frames.size != 3
          topic, header, = frames
          names = topics ? topics[topic] : Topic.parse(topic)
          return unless names
          start = Header.start(header)
          return new(frames, names, start) if start
          start = Header.of(data = Header.parse(header))
          new(frames, names, start, data) if start
        # The bytes are invalid in the socket's `encoding:`, which is not binary.
        rescue ArgumentError, Encoding::CompatibilityError
          parse(frames.map(&:b), topics)
        end

        # The records of a message, in which a writer may send several.
        # @param message [Array<String>, String] as {Godwit::Socket::Messages#recv} returns it
        # @return [Array<Record>] empty when the message is neither a record, a line nor a batch
        def parse_all(message)
          (Packing.split(message) || [message]).filter_map { |frames| parse(frames) }
        end
      end

      # @private
      def initialize(frames, names, header, data = nil)
        @frames = frames # up to three instance variables cost no memory outside of the object
        @names = names
        @header = header
        @data = data if data
      end

      # @return [Boolean] whether the record is a line of a plain writer. Such a line has no {#seq};
      #   if it has the format of Ruby's Logger, it gives the record's level, program and time
      def plain? = @frames.size == 1
      # @return [String, nil] id of the writer, 32 hexadecimal digits; each process has its own
      def writer = @header&.writer
      # @return [Integer, nil] the writer's number of the record, from 1; dropped records count too
      def seq = @header&.seq
      # @return [Integer, nil] the writer's number of the record within its topic. It shows gaps to
      #   a reader that subscribes to some topics
      def tseq = @header&.tseq
      # @return [Integer] 0 (debug) to 5 (unknown), as in ::Logger
      def level = names.level
      # @return [String] DEBUG, INFO, WARN, ERROR, FATAL, ANY
      def label = names.label
      # @return [String, nil] progname
      def prog = names.prog
      # @return [String, nil]
      def host = names.host
      # @return [String] the message, in UTF-8; invalid bytes are replaced
      def text = @shown ||= utf8((plain? && line) ? line.text : @frames.last)

      # @return [Time, nil] when the record was logged, by the writer's clock; local time here
      def time
        return @time if defined?(@time)
        return @time = line && line_time if plain?
        ns = t_ns
        @time = ns && Time.at(ns / 1_000_000_000, ns % 1_000_000_000, :nsec)
      end

      # @return [Integer, nil] when the record was logged, in nanoseconds since 1970
      def t_ns = @header&.t_ns
      # @return [Integer, nil] when it was logged, in nanoseconds of the writer's monotonic clock
      def mono_ns = @header&.mono_ns || integer("mono_ns")
      # @return [Integer, nil] the writer's process id
      def pid = plain? ? line && line.pid.to_i : @header.pid || integer("pid")
      # @return [Integer, String, nil] thread id, or what another program sent
      def thread = data["thread"]
      # @return [Array] such as ["req-9"]
      def tags = data["tags"].is_a?(Array) ? data["tags"] : []
      # @return [Hash, Object, nil] the payload besides the text; keys are Strings
      def payload = data["payload"]
      # @return [Hash, nil] class, message, backtrace (Array of Strings), causes (Array of Hashes)
      def error = data["error"].is_a?(Hash) ? data["error"] : nil
      # @return [Hash] the whole header; empty for a plain line
      def data = @data ||= plain? ? {} : Header.parse(@frames[1])

      # The line that Ruby's Logger would have written, with a newline; a plain line as it came. An
      # error that is not in the text follows the text's first line.
      # @return [String] UTF-8
      def to_s
        return "#{utf8(@frames.first).chomp}\n" if plain?
        LINES.call(self)
      end

      # @private
      # @return [String] the text, with class, message and location of an error that is not in it
      def text_with_error
        return text if plain? || !@frames[1].include?('"error":') || !error
        rest = ErrorText.after(text, error)
        return ErrorText.insert(text, [ErrorText.line(error)]) unless rest
        rest.empty? ? ErrorText.line(error) : text # the text itself shows the whole error
      end

      # @return [Hash] the header and `text`, as `--json` prints them
      def to_h
        return data.merge("text" => text) unless plain?
        {"plain" => true, "level" => level, "prog" => prog, "pid" => pid, "text" => text}.compact
      end

      # @param arguments [Array] arguments of JSON's generator
      # @return [String] a JSON object
      def to_json(*arguments) = to_h.to_json(*arguments)
      # @return [Array<String>] the frames as received
      attr_reader :frames
      # @private
      # @return [Header, nil] nil for a plain line
      attr_reader :header
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

      private

      # The level, program and host; those of a plain line come from parsing the line.
      def names
        @names ||= begin
          level = line ? Lines.level(@frames.first) : 5
          Topic::Names.new(Levels::LABELS[level], line && utf8(line.prog), nil, level)
        end
      end

      # @return [Lines::Parsed, nil]
      def line
        return @line if defined?(@line)
        parsed = Lines.parse(utf8(@frames.first).chomp)
        @line = (parsed if parsed&.time&.match?(LINE_TIME))
      end

      def line_time
        Time.new(*line.time.scan(/\d+/).first(5).map(&:to_i), line.time[17..].to_r)
      rescue ArgumentError
        nil
      end

      def integer(key) = data[key].is_a?(Integer) ? data[key] : nil

      def utf8(text)
        text = text.dup.force_encoding(Encoding::UTF_8)
        text.valid_encoding? ? text : text.scrub
      end
    end
  end
end
