# frozen_string_literal: true

require_relative "levels"

module Godwit
  class Logger < ::Logger
    # The first frame of a record, `ERROR.billing.web1.`: level, program and host. Each ends with a
    # dot, so that the prefix of `billing` does not match `billing2`. `.` and `%` in a part are
    # written %2E and %25.
    # @private
    module Topic
      ESCAPED = {"." => "%2E", "%" => "%25"}.freeze
      PLAIN = ESCAPED.invert.freeze
      # The form of a record's topic.
      FORM = /\A(DEBUG|INFO|WARN|ERROR|FATAL|ANY)\.([^.]*)\.([^.]*)\.\z/

      module_function

      # @return [String] binary
      def build(level, prog, host)
        "#{Levels.label(level)}.#{escape(prog.to_s)}.#{escape(host)}.".b
      end

      # @return [Array(String, String, String, Integer), nil] the level's label, program and host,
      #   in UTF-8, and the level's number; frozen. nil for another form
      def where(topic)
        label, prog, host = FORM.match(topic)&.captures
        return unless label
        names = [label, unescape(prog), unescape(host)].each(&:freeze)
        [*names, Levels::LABELS.index(label)].freeze
      end

      # @param most [Integer] topics
      # @return [Hash] a cache of {where}
      def memory(most = 1000)
        Hash.new do |known, topic|
          known.clear if known.size >= most
          known[topic] = where(topic)
        end
      end

      # The prefixes that a SUB subscribes to. Plain lines (Ruby's Logger, rbczmq's) begin with the
      # level's letter.
      # @return [Array<String>] [""] for everything
      def subscriptions(levels: nil, progs: nil)
        return [""] unless levels || progs
        (levels || (0..5)).flat_map do |level|
          label = Levels.label(level)
          own = progs ? progs.map { |prog| "#{label}.#{escape(prog)}.".b } : ["#{label}."]
          own << "#{label[0]}, ["
        end
      end

      def escape(part) = part.b.gsub(/[.%]/n, ESCAPED)

      def unescape(part)
        part = part.gsub(/%2E|%25/n, PLAIN) if part.include?("%")
        part.force_encoding(Encoding::UTF_8).scrub
      end
    end
    private_constant :Topic
  end
end
