# frozen_string_literal: true

module Godwit
  module CLI
    class Perf
      # Draws a histogram's latencies by percentile.
      class Plot
        HEIGHT = 8
        STEPS = 10 # columns from 90 % to 99 %, from 99 % to 99.9 %, and so on
        BLOCKS = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"].freeze
        ASCII = [" ", ".", ".", ":", ":", "|", "|", "#"].freeze

        def initialize(histogram, title)
          @histogram = histogram
          @title = title
        end

        def lines(io)
          return ["#{@title}: no samples"] if @histogram.count.zero?
          blocks = utf8?(io) ? BLOCKS : ASCII
          top = values.last
          unit = Report.unit(top)
          heights = values.map { |value| value / top * HEIGHT }
          rows = HEIGHT.downto(1).map do |level|
            label = Report.in_unit(top * level / HEIGHT, unit).rjust(8)
            "#{label} #{heights.map { |height| block(blocks, height - level + 1) }.join}".rstrip
          end
          ["#{@title}, #{unit}", *rows, axis]
        end

        private

        def utf8?(io)
          encoding = io.external_encoding || Encoding.default_external
          locale = ENV.values_at("LC_ALL", "LC_CTYPE", "LANG").compact.find { |text| !text.empty? }
          encoding == Encoding::UTF_8 && locale.to_s.match?(/utf-?8/i)
        end

        # @param share [Float] how much of the block is filled; 1 or more: the whole block
        def block(blocks, share)
          return " " if share <= 0
          blocks[[(share * blocks.size).ceil, blocks.size].min - 1]
        end

        # The axis goes to 99.9… %, with as many nines as the samples allow.
        def nines = [Math.log10(@histogram.count).floor, 1].max

        def values
          Array.new(nines * STEPS + 1) do |index|
            @histogram.percentile(100 - 100 * 10**-index.fdiv(STEPS))
          end
        end

        def axis
          marks = (0..nines).map { |count| (100 - 100 / 10r**count).to_f.to_s.delete_suffix(".0") }
          "#{" " * 9}#{marks.map { |mark| mark.ljust(STEPS) }.join}".rstrip + " %"
        end
      end
      private_constant :Plot
    end
  end
end
