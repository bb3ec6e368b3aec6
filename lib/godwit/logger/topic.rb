# frozen_string_literal: true

require_relative "levels"

module Godwit
  class Logger < ::Logger
    # The first frame of a record, `ERROR.billing.web1.`: level, program and host, each ended by a
    # dot, so that a prefix never takes `billing2` for `billing`. `.` and `%` in a part are written
    # %2E and %25.
    # @private
    module Topic
      ESCAPED = {"." => "%2E", "%" => "%25"}.freeze
      PLAIN = ESCAPED.invert.freeze
      # A record's topic; anything else is none of ours.
      FORM = /\A(DEBUG|INFO|WARN|ERROR|FATAL|ANY)\.([^.]*)\.([^.]*)\.\z/

      module_function

      # @param level [Integer]
      # @param prog [String, nil]
      # @param host [String]
      # @return [String] binary
      def build(level, prog, host)
        "#{Levels.label(level)}.#{escape(prog.to_s)}.#{escape(host)}.".b
      end

      # @return [Array(String, String, String), nil] level's label, program, host, in UTF-8; nil
      #   when it is no topic of ours
      def parse(topic)
        match = FORM.match(topic) or return
        [match[1], unescape(match[2]), unescape(match[3])]
      end

      # @return [Array(String, String, String, Integer), nil] the same and the level's number,
      #   frozen
      def where(topic)
        parts = parse(topic) or return
        [*parts.each(&:freeze), Levels::LABELS.index(parts.first)].freeze
      end

      # Remembers what {where} said, for as many topics.
      # @return [Hash] ask it with []
      def memory(most = 1000)
        Hash.new do |known, topic|
          known.clear if known.size >= most
          known[topic] = where(topic)
        end
      end

      # What a SUB subscribes to. Lines of plain writers (Ruby's Logger, rbczmq's) begin with a
      # letter for the level instead.
      # @param levels [Array<Integer>, nil] nil: all
      # @param progs [Array<String>, nil] nil: all
      # @return [Array<String>] prefixes; [""] for everything
      def subscriptions(levels: nil, progs: nil)
        return [""] unless levels || progs
        (levels || (0..5)).flat_map do |level|
          label = Levels.label(level)
          (
            progs ? progs.map { |prog| "#{label}.#{escape(prog)}.".b } : ["#{label}."]
          ) << "#{label[0]}, ["
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
