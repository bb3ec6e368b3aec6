# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # The first frame of a record, `ERROR.billing.web1.`: level, program and host. Each ends with a
    # dot, so that the prefix of `billing` does not match `billing2`. `.` and `%` in one of the
    # three are written %2E and %25.
    module Topic
      ESCAPED = {"." => "%2E", "%" => "%25"}.freeze
      PLAIN = ESCAPED.invert.freeze
      # A topic's content: the level's label, program and host in UTF-8, and the level's number.
      Names = Struct.new(:label, :prog, :host, :level)
      FORM = /\A(DEBUG|INFO|WARN|ERROR|FATAL|ANY)\.([^.]*)\.([^.]*)\.\z/

      module_function

      def build(level, prog, host)
        "#{Levels.label(level)}.#{escape(prog.to_s)}.#{escape(host)}.".b
      end

      def parse(topic)
        label, prog, host = FORM.match(topic)&.captures
        return unless label
        names = [label, unescape(prog), unescape(host)].each(&:freeze)
        Names.new(*names, Levels::LABELS.index(label)).freeze
      end

      def memory(most = 1000)
        Hash.new do |known, topic|
          known.clear if known.size >= most
          known[topic] = parse(topic)
        end
      end

      # The prefixes that a SUB subscribes to; [""] for all records. Each level also has a prefix
      # for plain lines (of Ruby's Logger or rbczmq), which begin with the level's letter.
      def subscriptions(levels: nil, progs: nil)
        return [""] unless levels || progs
        (levels || (0..5)).flat_map do |level|
          label = Levels.label(level)
          own = progs ? progs.map { |prog| "#{label}.#{escape(prog)}.".b } : ["#{label}."]
          own << Lines.prefix(level.clamp(0, 5))
        end
      end

      def escape(piece) = piece.b.gsub(/[.%]/n, ESCAPED)

      def unescape(piece)
        piece = piece.gsub(/%2E|%25/n, PLAIN) if piece.include?("%")
        piece.force_encoding(Encoding::UTF_8).scrub
      end
    end
    private_constant :Topic
  end
end
