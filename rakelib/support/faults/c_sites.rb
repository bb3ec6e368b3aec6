# frozen_string_literal: true

require "open3"
require "rbconfig"

module Faults
  # Where a C file can have a fault, by the form of its lines: the compiler refuses what is none.
  # {.of} gives [index of the line, kind, new line].
  class CSites
    CONDITION = /\b(?:if|while) \K(?<condition>\((?:[^()]|\g<condition>)*\))/
    NUMBER = /(?<![\w."'])\d+(?![\w."'])/
    STATEMENT = /\A {4,}(?!return|case|default|goto|else|if|for|while|do|static|#)[\w*(].*;\z/
    ENDED = %r{(?:[;{}]|\*/)\z}
    HEAD = /\A(?:static |inline )*(?<type>\w[\w ]*?[ *]+)\w+\(/
    COMPILER = [
      RbConfig::CONFIG["CC"], "-std=gnu11", "-fsyntax-only", "-Werror=return-type",
      "-I#{RbConfig::CONFIG["rubyhdrdir"]}", "-I#{RbConfig::CONFIG["rubyarchhdrdir"]}"
    ].join(" ").split.freeze

    def self.of(lines) = new(lines).sites

    # @param path [String] of the file that the lines replace
    def self.valid?(lines, path)
      text = "int GW_FAULT(int number);\n#{lines.join("\n")}\n".gsub("@@", "1")
      command = [*COMPILER, "-I#{File.dirname(path)}", "-x", "c", "-"]
      Open3.capture2e(*command, stdin_data: text).last.success?
    end

    def initialize(lines)
      @lines = lines
    end

    def sites
      type = nil
      @lines.each_with_index.flat_map do |line, index|
        type = line[HEAD, :type]&.strip || type if line.match?(/\A\w/)
        line.start_with?("    ") ? of_line(index, type).map { |site| [index, *site] } : []
      end
    end

    private

    def of_line(index, type)
      line = @lines[index]
      code = line[%r{\A(?:(?!/\*|//).)*}].rstrip
      return [] if code.strip.empty?
      negated = changes(line, code, CONDITION, "negated") { |text| "(GW_FAULT(@@) ^ !!#{text})" }
      numbers = changes(line, code, NUMBER, "off by one") { |text| "(#{text} + GW_FAULT(@@))" }
      negated + numbers + (code.match?(STATEMENT) ? of_statement(index, code, type) : [])
    end

    def changes(line, code, pattern, kind)
      code.to_enum(:scan, pattern).filter_map do
        found = Regexp.last_match
        next if found.pre_match.count('"').odd?
        changed = line.dup
        changed[found.begin(0)...found.end(0)] = yield(found[0])
        [kind, changed]
      end
    end

    def of_statement(index, code, type)
      before = @lines[index - 1].strip
      return [] unless before.match?(ENDED) || before.end_with?(")", ":")
      text = code.strip
      space = code[/\A */]
      sites = [["left out", "#{space}{ if (!GW_FAULT(@@)) { #{text} } }"]]
      return sites unless type && before.match?(ENDED)
      value = {"void" => "", "VALUE" => " Qnil"}.fetch(type, " (#{type}){0}")
      sites << ["early return", "#{space}if (GW_FAULT(@@)) return#{value}; #{text}"]
    end
  end
end
