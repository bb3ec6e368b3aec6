# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # Chooses records by level, program, host and tag, and by patterns in what {View.message} shows.
    # A record must match each keyword; if a keyword has several values, one of them must match.
    #
    #   filter = Godwit::Logger::Filter.new(level: "error+", prog: "billing", grep: /refused/)
    #   filter.fits?(record)
    #   records.select(&filter)
    #
    # **Threads**: a filter is frozen; any number of threads, fibers and Ractors may use it.
    class Filter
      extend Keywords

      # @return [Array<Integer>, nil] accepted levels, ascending; nil: all
      attr_reader :levels
      # @return [Array<String>, nil] accepted names; nil: all
      attr_reader :progs, :hosts, :tags
      # @return [Array<Regexp>] the patterns of `grep:`, for `highlight:` of a {View}
      attr_reader :grep

      # @param level [String, Symbol, Integer, Array, nil] "warn", "error+" (and above),
      #   "debug,error+", :info, 3
      # @param prog [String, Array<String>, nil] progname
      # @param host [String, Array<String>, nil] host, as writers send it
      # @param tag [String, Array<String>, nil] tags of which the record must have at least one
      # @param grep [Regexp, String, Array<Regexp, String>, nil] patterns of which one must match
      #   the tags, text, error and payload, as {View.message} shows them, with the backtrace; a
      #   String must occur literally
      # @param exclude [Regexp, String, Array<Regexp, String>, nil] patterns of which none may match
      # @raise [ArgumentError] "invalid log level: foo"
      # @raise [ArgumentTypeError] when a pattern is neither Regexp nor String
      def initialize(level: nil, prog: nil, host: nil, tag: nil, grep: nil, exclude: nil)
        @levels = level && Levels.choose(level).freeze
        @progs, @hosts, @tags = [prog, host, tag].map { |given| words(given) }
        @grep = patterns("grep:", grep)
        @exclude = patterns("exclude:", exclude)
        freeze
      end

      # @return [Boolean] whether every record matches
      def everything? = !(@levels || @progs || @hosts || @tags || @grep.any? || @exclude.any?)
      # @private
      # @return [Array<String>] a SUB's subscriptions, which may match more records than {#fits?}
      def subscriptions = Topic.subscriptions(levels: @levels, progs: @progs)

      # @param record [Record]
      # @return [Boolean]
      def fits?(record)
        (!@levels || @levels.include?(record.level)) && (!@progs || @progs.include?(record.prog)) &&
          (!@hosts || @hosts.include?(record.host)) &&
          (!@tags || record.tags.any? { |tag| @tags.include?(tag.to_s) }) &&
          ((@grep.empty? && @exclude.empty?) || says?(View.message(record, backtrace: true)))
      end
      alias_method :===, :fits?

      # @return [Proc] for `select(&filter)`
      def to_proc = method(:fits?).to_proc

      private

      def says?(message)
        (@grep.empty? || @grep.any? { |pattern| pattern.match?(message) }) &&
          @exclude.none? { |pattern| pattern.match?(message) }
      end

      def patterns(name, given)
        Array(given).map do |one|
          next one if one.is_a?(Regexp)
          raise Errors.bad_type(:filter, name, "a Regexp or a String", one) unless one.is_a?(String)
          Regexp.new(Regexp.escape(one))
        end.freeze
      end

      def words(given)
        words = Array(given).map { |word| word.to_s.dup.force_encoding(Encoding::UTF_8).freeze }
        words.freeze unless words.empty?
      end
    end
  end
end
