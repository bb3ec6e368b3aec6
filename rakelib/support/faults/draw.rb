# frozen_string_literal: true

require_relative "c_sites"
require_relative "fault"
require_relative "ruby_sites"

module Faults
  # Draws faults: each line of a folder is as likely as any other, then each kind that the line has.
  class Draw
    # One round of faults, so that the first ones of a run tell about each folder.
    ROUND = %w[lib lib lib ext work/lib].freeze
    GENERATED = %r{/generated/|option_table\.h|constants\.h}

    # @return [Hash{String => Array<String>}] path => lines, of the files that may have a fault
    def self.sources(root)
      paths = Dir.glob(["{lib,work/lib}/**/*.rb", "ext/**/*.{c,h}"], base: root)
      paths.grep_v(GENERATED).sort.to_h do |path|
        [path, File.readlines(File.join(root, path), chomp: true)]
      end
    end

    def initialize(sources, seed)
      @sources = sources
      @random = Random.new(seed)
      @sites = Hash.new { |sites, path| sites[path] = language(path).of(@sources[path]) }
      @lines = ROUND.uniq.to_h do |folder|
        files = sources.select { |path, _| path.start_with?("#{folder}/") }
        lines = files.flat_map { |path, all| all.each_index.map { |index| [path, index] } }
        [folder, lines.shuffle(random: @random)]
      end
    end

    # @return [Array<Fault>]
    def draw(count)
      ROUND.cycle.first(count).each.with_index(1).map { |folder, number| next_one(folder, number) }
    end

    private

    def language(path) = path.end_with?(".rb") ? RubySites : CSites

    def next_one(folder, number)
      loop do
        path, index = @lines[folder].shift
        kinds = @sites[path].select { |at, *| at == index }.group_by { |_, kind, _| kind }
        next if kinds.empty?
        _, kind, instead = kinds.values.sample(random: @random).sample(random: @random)
        changed = @sources[path].dup.tap { |lines| lines[index] = instead }
        next unless language(path).valid?(changed, path)
        line = @sources[path][index].strip
        return Fault.new(number, path, index + 1, kind, line, instead.strip, "")
      end
    end
  end
end
