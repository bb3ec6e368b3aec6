# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # Shows records to people, as `godwit log tail` does.
    #
    #   view = Godwit::Logger::View.new(color: $stdout.tty?)
    #   reader.each { |record| print view.line(record) }
    #   # 12:31:07.123456 ERROR web1 billing[4242] [req-9] card refused  user=42
    #
    # **Escaping**: a record can neither look like another record nor control the terminal. Control
    # characters and marks of text direction show as `\e`, `\x07`, `\u202e`. Later lines of a text
    # are indented by four spaces. Bytes that are not UTF-8 show as U+FFFD.
    #
    # **Threads**: any number of threads and fibers may use one view.
    class View
      extend Keywords

      # The names that a format may use.
      FIELDS = %i[date time level host prog pid thread writer seq tags text payload message].freeze
      BARE = /\A[[:alnum:]_.:\/@%+-]+\z/ # a String that needs no quotes after `key=`
      INDENT = "\n    "
      NO_TIME = "--:--:--.------"
      NO_DATE = "----------"

      STYLES = Levels::LABELS.zip(%w[2 32 33 31 1;31 35]).to_h.freeze
      PROG_STYLES = %w[36 34 35 32 33 96 94 95 92 93].freeze
      FAINT = "2"
      MATCH = "1;7"
      private_constant :BARE, :INDENT, :NO_TIME, :NO_DATE, :STYLES,
        :PROG_STYLES, :FAINT, :MATCH

      class << self
        # Tags, text, error and payload in one String: `[req-9] card refused  user=42`. Error and
        # payload follow the first line of the text. {Filter} searches this String.
        # @param record [Record]
        # @param backtrace [Boolean] whether the error's backtrace and causes follow; without them
        #   one line has the error's class, message and first line of the backtrace
        # @return [String] UTF-8, valid, nothing escaped
        def message(record, backtrace: false)
          error = record.error
          text = record.text.chomp
          text = "" if error && ErrorText.after(text, error)
          text = text.gsub("\r\n", "\n") if text.include?("\r")
          details = payload(record.payload)
          if error || !details.empty?
            text = ErrorText.insert(text, [*(ErrorText.line(error) if error), details])
          end
          text = [text, *ErrorText.rest(error)].join("\n") if error && backtrace
          tags = record.tags
          tags.empty? ? text : "#{tags(tags)} #{text}"
        end

        # @param text [String]
        # @param lines [Boolean] whether newlines and tabs stay
        # @return [String] without characters that control a terminal
        def escape(text, lines: false) = Printable.text(text, lines: lines)

        # @private
        def tags(tags) = tags.map { |tag| "[#{string(tag)}]" }.join(" ")

        # @private
        def payload(payload)
          return "" if payload.nil? || payload == {}
          return value(payload) unless payload.is_a?(Hash)
          payload.map { |key, value| "#{string(key)}=#{value(value)}" }.join(" ")
        end

        # JSON of a parsed value. A lone surrogate in parsed JSON gives a String of invalid UTF-8.
        # @private
        def json(value)
          text = begin
            JSON.generate(value)
          rescue JSON::GeneratorError
            JSON.generate(scrub(value))
          end
          Printable.json(text)
        end

        private

        def value(value)
          return json(value) unless value.is_a?(String)
          value = value.scrub
          value.match?(BARE) ? value : json(value)
        end

        def string(value) = value.is_a?(String) ? value.scrub : json(value)

        def scrub(value)
          case value
          when String then value.scrub
          when Array then value.map { |one| scrub(one) }
          when Hash then value.to_h { |key, one| [key.to_s.scrub, scrub(one)] }
          else value
          end
        end
      end

      # @param format [String, Symbol, nil] nil: a line as in the example above; `:json`: one JSON
      #   object per line; a String for Kernel#format, with the names of {FIELDS}, such as "%<date>s
      #   %<time>s %-5<level>s %<message>s". All are Strings, "" where the record has no value
      # @param color [Boolean] ANSI colours for levels, programs and matches of `highlight:`
      # @param highlight [Regexp, Array<Regexp>, nil] shows matches in inverse video, with `color:`
      # @param backtrace [Boolean] whether the rest of an error's backtrace and its causes follow
      #   its line; `:json` always has them
      # @raise [ArgumentValueError] when the format is invalid; the message says why
      def initialize(format: nil, color: false, highlight: nil, backtrace: false)
        @format = format
        @color = color
        @backtrace = backtrace
        @highlight = Regexp.union(*highlight) if color && highlight && Array(highlight).any?
        check_format if format && format != :json
        freeze
      end

      # @param record [Record]
      # @return [String] UTF-8, ends with a newline
      def line(record)
        case @format
        when nil then standard(record)
        when :json then "#{View.json(record.to_h)}\n"
        else "#{format(@format, fields(record))}\n"
        end
      end

      private

      def check_format
        raise TypeError, "got #{@format.class}" unless @format.is_a?(String)
        format(@format, FIELDS.to_h { |name| [name, ""] })
      rescue KeyError, ArgumentError, TypeError => error
        text = "format: takes a String with names such as %{time} or %-5<level>s, of " \
          "#{FIELDS.join(", ")}: #{error.message}"
        raise ArgumentValueError.new(text, operation: :new)
      end

      def standard(record)
        host = record.host.to_s
        prog = record.prog.to_s
        pid = record.pid
        start = [paint(clock(record, "%H:%M:%S.%6N", NO_TIME), FAINT)]
        start << paint(record.label.ljust(5), STYLES[record.label])
        start << View.escape(host) unless host.empty?
        unless prog.empty? && pid.nil?
          start << "#{prog.empty? ? "-" : program(prog)}#{"[#{pid}]" if pid}"
        end
        "#{start.join(" ")} #{message(record)}\n"
      end

      def fields(record)
        %i[host prog pid thread writer seq].to_h do |name|
          [name, View.escape(record.public_send(name).to_s)]
        end.merge(date: clock(record, "%Y-%m-%d", NO_DATE),
          time: clock(record, "%H:%M:%S.%6N", NO_TIME), level: record.label,
          tags: View.escape(View.tags(record.tags)), text: shown(record.text.chomp),
          payload: View.escape(View.payload(record.payload)), message: message(record))
      end

      # A record of another program than Godwit may have an invalid time.
      def clock(record, pattern, none)
        time = record.time
        time&.year&.between?(0, 9999) ? time.strftime(pattern) : none
      rescue RangeError, ArgumentError
        none
      end

      def program(prog) = paint(View.escape(prog), PROG_STYLES[prog.sum % PROG_STYLES.size])

      def message(record)
        message = View.message(record, backtrace: @backtrace)
        return shown(message) unless @highlight
        result = +""
        at = 0
        message.scan(@highlight) do
          first, last = $~.offset(0)
          next if first == last
          pieces = message[first...last].split("\n", -1).map { |piece| highlight(piece) }
          result << shown(message[at...first]) << pieces.join(INDENT)
          at = last
        end
        result << shown(message[at..])
      end

      def highlight(piece) = piece.empty? ? "" : paint(View.escape(piece, lines: true), MATCH)
      # Indents the later lines of a text, so that none looks like another record.
      def shown(text) = View.escape(text, lines: true).gsub("\n", INDENT)
      def paint(text, style) = @color ? "\e[#{style}m#{text}\e[0m" : text
    end
  end
end
