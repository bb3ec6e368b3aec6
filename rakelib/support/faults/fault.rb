# frozen_string_literal: true

module Faults
  # A small change of one line, with a number. `@@` in the new line stands for the number. The note
  # is a person's judgement of a fault that no test finds.
  Fault = Struct.new(:number, :path, :line_number, :kind, :line, :instead, :note) do
    # @param path [String] of a file with a fault in each line, its fields separated by tabs
    def self.read(path)
      File.readlines(path, chomp: true).map do |text|
        number, file, line_number, *rest = text.split("\t", -1)
        new(number.to_i, file, line_number.to_i, *rest)
      end
    end

    # Changes its line so that the fault can be switched on. The line may have moved since the fault
    # was drawn, also to another file.
    # @param sources [Hash{String => Array<String>}] path => lines
    # @return [Boolean] false: the line is gone
    def apply(sources)
      lines, index = places(sources.slice(path)).min_by { |_, i| (i + 1 - line_number).abs }
      lines, index = places(sources).then { |all| all.first if all.one? } unless lines
      return false unless lines
      lines[index] = lines[index][/\A\s*/] + instead.gsub("@@", number.to_s)
      true
    end

    def to_s = "#{to_a.join("\t")}\n"

    private

    # @return [Array<Array(Array<String>, Integer)>] lines of a file and index, where the line is
    def places(sources)
      sources.values.flat_map do |lines|
        lines.each_index.filter_map { |i| [lines, i] if lines[i].strip == line }
      end
    end
  end
end
