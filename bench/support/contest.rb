# frozen_string_literal: true

module Bench
  # Contenders that take turns: run 1 of each, run 2 of each…, so that what the machine does
  # meanwhile meets all of them alike.
  class Contest
    Contender = Struct.new(:label, :kind, :run)

    # One figure of a contender over all runs.
    Sample = Struct.new(:values) do
      def median
        sorted = values.sort
        (sorted[(sorted.size - 1) / 2] + sorted[sorted.size / 2]) / 2.0
      end

      def least = values.min

      def most = values.max
    end

    # The labels of those that could not take part, with the reason.
    attr_reader :absent

    def initialize(name)
      @name = name
      @contenders = []
      @absent = {}
    end

    # The block runs the contender once and gives a Hash of figures.
    def add(label, *kinds, &run)
      return if Bench.kinds && (kinds - Bench.kinds).any?
      reason = kinds.filter_map { |kind| Contest.missing(kind) }.first
      reason ? @absent[label] = reason : @contenders << Contender.new(label, kinds, run)
    end

    # @return [Hash{String => Hash{Symbol => Sample}}] by label; absent ones are not in it
    def run(runs)
      figures = Hash.new { |hash, label| hash[label] = Hash.new { |inner, key| inner[key] = [] } }
      runs.times do |number|
        warn "#{@name}: run #{number + 1} of #{runs}"
        @contenders.rotate(number).each do |contender|
          contender.run.call.each { |key, value| figures[contender.label][key] << value }
        end
      end
      @contenders.to_h do |contender|
        [contender.label, figures[contender.label].transform_values { |values| Sample.new(values) }]
      end
    end

    # Asked once for each kind.
    def self.missing(kind)
      @missing ||= {}
      @missing.fetch(kind) { @missing[kind] = Programs.missing(kind) }
    end
  end
end
