# frozen_string_literal: true

module Faults
  # A small change of one line, with a number. `@@` in the new line stands for the number. The note
  # is a person's judgement of a fault that no test finds.
  Fault = Struct.new(:number, :path, :line_number, :kind, :line, :instead, :note) do
    # @param path [String] of a table with tabs: a fault a line
    # @return [Array<Fault>]
    def self.read(path)
      File.readlines(path, chomp: true).map do |text|
        number, file, line_number, *rest = text.split("\t", -1)
        new(number.to_i, file, line_number.to_i, *rest)
      end
    end

    def self.write(path, faults) = File.write(path, faults.map { |fault| "#{fault}\n" }.join)

    # The line may have moved since the fault was drawn, also to another file.
    # @param sources [Hash{String => Array<String>}] path => lines
    # @return [Array(String, Integer), nil] path and index of the line; nil: there is no such line
    def find(sources)
      same = sources.fetch(path, []).each_index.select { |i| sources[path][i].strip == line }
      return [path, same.min_by { |i| (i + 1 - line_number).abs }] if same.any?
      elsewhere = sources.flat_map do |file, lines|
        lines.each_index.filter_map { |i| [file, i] if lines[i].strip == line }
      end
      elsewhere.first if elsewhere.one?
    end

    # Changes its line so that the fault can be switched on.
    # @return [Boolean] false: the line is gone
    def apply(sources)
      file, index = find(sources)
      return false unless file
      lines = sources[file]
      lines[index] = lines[index][/\A\s*/] + instead.gsub("@@", number.to_s)
      true
    end

    def to_s = [number, path, line_number, kind, line, instead, note].join("\t")
  end
end
