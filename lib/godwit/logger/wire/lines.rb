# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # Makes and parses lines of Ruby's Logger: for {Record#to_s}, a {Sink}'s file and `wire:
    # :plain`. It caches the formatted time of the last second. Any number of threads may call it.
    class Lines
      BILLION = 1_000_000_000
      # For each label: the text before the time, and the text after the process id.
      STARTS = Levels::LABELS.to_h do |label|
        [label, ["#{label[0]}, [", "] #{label.rjust(5)} -- "]]
      end.freeze
      PREFIXES = STARTS.values.map(&:first).freeze
      FORM = /\A([DIWEFA]), \[([^\]]*) #(\d+)\] +([A-Z]+) -- (.*?): (.*)\z/m
      # The pieces of a line. `time` is the text in the line; `pid` is a String.
      Parsed = Struct.new(:letter, :time, :pid, :label, :prog, :text)

      class << self
        # @param line [String] without the line end
        def parse(line)
          match = FORM.match(line)
          Parsed.new(*match.captures) if match
        end

        def level(line) = PREFIXES.index { |prefix| line.start_with?(prefix) } || 5
        def prefix(level) = PREFIXES.fetch(level)

        # @param most [Integer] bytes of one write; a single line may have more
        # @return [Array(Integer, Integer)] how many lines from the index on fit, and their bytes
        def chunk(lines, index, most)
          bytes = lines[index].bytesize
          count = 1
          while index + count < lines.size && bytes + lines[index + count].bytesize <= most
            bytes += lines[index + count].bytesize
            count += 1
          end
          [count, bytes]
        end
      end

      def call(record)
        return record.to_s unless record.is_a?(Record) && !record.plain?
        build(record.label, record.t_ns, record.pid || 0, record.prog, record.text_with_error, "\n")
      end

      def build(label, t_ns, pid, prog, text, ending = nil)
        second, rest = t_ns.divmod(BILLION)
        before, after = STARTS.fetch(label)
        micros = (rest / 1000 + 1_000_000).to_s.byteslice(1, 6)
        "#{before}#{at(second)}.#{micros} ##{pid}#{after}#{prog}: #{text}#{ending}"
      end

      private

      def at(second)
        known, text = @second
        return text if known == second
        text = Time.at(second).strftime("%Y-%m-%dT%H:%M:%S")
        @second = [second, text].freeze
        text
      end
    end
    private_constant :Lines
  end
end
