# frozen_string_literal: true

module Godwit
  module TestSupport
    # A strict parser of Prometheus' text format 0.0.4, limited to what Godwit writes.
    module Prometheus
      NAME = /[a-zA-Z_:][a-zA-Z0-9_:]*/
      LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^\\"\n]|\\[\\"n])*)"/
      SAMPLE = /\A(#{NAME})(?:\{(#{LABEL}(?:,#{LABEL})*)\})? (-?\d+(?:\.\d+)?)\z/
      UNESCAPED = {"\\n" => "\n", "\\\\" => "\\", "\\\"" => "\""}.freeze

      class Malformed < StandardError; end

      module_function

      # @return [Hash{Array(String, Hash) => Float}] name and labels => value
      # @raise [Malformed]
      def parse(text)
        raise Malformed, "not UTF-8" unless text.valid_encoding?
        raise Malformed, "no newline at the end" unless text.empty? || text.end_with?("\n")
        helped, types, series, current = {}, {}, {}, nil
        text.each_line("\n", chomp: true) do |line|
          case line
          when /\A# HELP (#{NAME}) (?:[^\\]|\\[\\n])+\z/o
            raise Malformed, "a second family: #{line}" if helped[$1]
            helped[current = $1] = true
          when /\A# TYPE (#{NAME}) (counter|gauge)\z/o
            unless current == $1 && !types[$1] && ($2 == "counter") == $1.end_with?("_total")
              raise Malformed, line
            end
            types[$1] = $2
          when SAMPLE
            name, pairs, value = $1, $2.to_s, Float($~[-1])
            labels = pairs.scan(LABEL).map { |key, raw| [key, raw.gsub(/\\./, UNESCAPED)] }
            raise Malformed, "of another family: #{line}" unless name == current && types[name]
            raise Malformed, "a label twice: #{line}" unless labels.to_h.size == labels.size
            raise Malformed, "a series twice: #{line}" if series[[name, labels.to_h]]
            series[[name, labels.to_h]] = value
          else raise Malformed, line.inspect
          end
        end
        series
      end
    end
  end
end
