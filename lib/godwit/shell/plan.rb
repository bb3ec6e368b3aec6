# frozen_string_literal: true

module Godwit
  module Shell
    # What was asked for: the commands and the options, checked before anything starts.
    # @private
    class Plan
      DEFAULTS = {
        shell: false, env: nil, chdir: nil, unsetenv_others: false, pty: false, foreground: false,
        input: nil, err: :inherit, sep: "\n", chomp: true, limit: 1 << 20, long: :raise,
        encoding: nil, reuse: false, timeout: nil, idle: nil, grace: 2, drain: 1, ok: [0].freeze,
        umask: nil
      }.freeze
      LONGER = {
        raise: Constants::LONG_RAISES, split: Constants::LONG_IS_SPLIT, cut: Constants::LONG_IS_CUT
      }.freeze
      STREAMS = %i[inherit merge discard tail rows].freeze

      # @return [Array<Array<String>>] of each stage, with its program
      attr_reader :commands
      # @return [Symbol] the public method, for messages
      attr_reader :operation
      # @return [Boolean] nobody wants the rows: they go where the process's own output goes
      attr_reader :outward

      # @param commands [Array<Array>] each with its arguments
      def initialize(operation, commands, options, outward: false)
        @operation = operation
        check_ractor
        @outward = outward
        unknown = options.keys - DEFAULTS.keys
        unless unknown.empty?
          raise ArgumentValueError.new(
            "#{operation}: no option #{unknown.map { |name| "#{name}:" }.join(", ")}; " \
            "there are " \
              "#{DEFAULTS.keys.map { |name| "#{name}:" }.join(", ")}",
            operation: operation
          )
        end
        @options = DEFAULTS.merge(options)
        @options[:ok] = Array(@options[:ok])
        commands = with_environment(commands)
        if commands.empty?
          raise value(
            "the commands", "one Array for each, with its program and arguments", commands
          )
        end
        @commands = commands.map { |command| words(command).freeze }.freeze
        check_places
        check_framing
        %i[timeout idle grace drain].each { |name| check_seconds(name, optional: name != :grace) }
        %i[timeout idle drain].each do |name|
          @options[name] = nil if @options[name] && @options[name] >= Timeout::MOST
        end
      end

      DEFAULTS.each_key { |name| define_method(name) { @options[name] } unless name == :encoding }

      # @return [Plan] the same with other options
      def with(**options)
        dup.tap { |plan| plan.instance_variable_set(:@options, @options.merge(options)) }
      end

      # @return [Encoding] of the rows
      def encoding = @encoding ||= found_encoding

      # @return [String] as a person would type it
      def name = @commands.map { |words| Plan.shown(words, shell) }.join(" | ")

      # @return [Hash] of Process.spawn
      def place
        {
          pgroup: (true unless foreground), close_others: true,
          unsetenv_others: @options[:unsetenv_others] && true, chdir: @options[:chdir]&.to_s,
          umask: umask
        }.compact
      end

      # @return [Boolean] whether stderr has a pipe of its own
      def err_piped?
        %i[tail rows].include?(err) || err.respond_to?(:call) ||
          (IO.try_convert(err).nil? && err.respond_to?(:write))
      end

      # @return [String] a command line; words of several encodings are bytes to a program, and so
      #   to this
      def self.shown(words, shell = false)
        words = words.map { |word| word.b.force_encoding(Encoding::UTF_8).scrub("?") }
        return words.last if shell
        words
          .map do |word|
            word.match?(%r{\A[\w@%+=:,./-]+\z}) ? word : "'#{word.gsub("'", "'\\\\''")}'"
          end
          .join(" ")
      end

      private

      # What ends commands at exit is the main Ractor's.
      def check_ractor
        return if !defined?(Ractor) || Ractor.current == Ractor.main
        raise Errors.build(UnsupportedError, operation, nil, "commands run in the main Ractor only")
      end

      # A Hash before the first command holds variables, as with Process.spawn.
      def with_environment(commands)
        first, *rest = commands
        return commands unless first.is_a?(Array) && first.first.is_a?(Hash)
        variables, *words = first
        check_environment # of env:
        @options[:env] = {**variables, **env.to_h}
        words.empty? ? rest : [words, *rest]
      end

      def words(command)
        command = command.first if command.size == 1 && command.first.is_a?(Array)
        raise value("a command", "a program and its arguments", command) if command.empty?
        if shell
          text = command.first
          unless command.size == 1 && text.is_a?(String)
            raise value(
              "shell: true",
              "one String for the shell; without it, program and arguments one by one", command
            )
          end
          return ["/bin/sh", "-c", checked(text)]
        end
        command
          .map { |word| checked(word) }
          .tap do |words|
            raise value("a command", "the name of a program", command.first) if words.first.empty?
          end
      end

      def checked(word)
        text = word.respond_to?(:to_path) ? word.to_path : word
        text = text.to_s if text.is_a?(Symbol) || text.is_a?(Integer)
        raise type("a command", "Strings, one for each argument", word) unless text.is_a?(String)
        raise value("a command", "Strings without a NUL byte", text) if text.b.include?("\0")
        raise value("a command", "a String that is not empty", text) if shell && text.b.strip.empty?
        text
      end

      def check_environment
        raise type("env:", "a Hash of Strings", env) unless env.nil? || env.is_a?(Hash)
      end

      def check_places
        check_environment
        if ok.empty? || ok.any? { |one| !number?(one, 0..255) }
          raise value("ok:", "exit statuses, each 0 to 255", ok)
        end
        if umask && !number?(umask, 0..0o777)
          raise value("umask:", "a number from 0 to 0777", umask)
        end
        if env&.any? { |name, text| name.to_s.match?(/[=\0]|\A\z/) || text.to_s.include?("\0") }
          raise value("env:", "names without \"=\" and NUL, values without NUL", env)
        end
        raise value("chdir:", "a path without NUL", chdir) if chdir.to_s.include?("\0")
        raise value("pty: true", "one command", name) if pty && @commands.size > 1
        if pty && foreground
          raise value("foreground: true", "no pty: (which is a terminal of its own)", pty)
        end
        if pty && err != :inherit
          raise value("err: with pty: true", ":inherit (a terminal has one output)", err)
        end
        takers = %i[call write].select { |name| err.respond_to?(name) }
        if takers.empty? && !STREAMS.include?(err)
          raise value("err:", "#{STREAMS.map(&:inspect).join(", ")}, a Proc, an IO", err)
        end
        if input.nil? || input.is_a?(String) || input.respond_to?(:each) || input.respond_to?(:read)
          return
        end
        raise type("input:", "a String, an IO, or what has each", input)
      end

      def number?(value, range) = value.is_a?(Integer) && range.cover?(value)

      def check_framing
        separates = sep.is_a?(String) ? !sep.empty? : sep == :chunk
        raise value("sep:", "a String that is not empty, or :chunk", sep) unless separates
        unless limit.is_a?(Integer) && limit.between?(1, (1 << 62) - 1)
          raise value("limit:", "a number of bytes from 1 on", limit)
        end
        raise value("long:", LONGER.keys.map(&:inspect).join(", "), long) unless LONGER.key?(long)
        return if encoding.ascii_compatible? || sep == :chunk
        raise value("encoding:", "one that has ASCII in it (for others take sep: :chunk)", encoding)
      end

      def check_seconds(name, optional:)
        seconds = @options[name]
        return if seconds.nil? && optional
        unless seconds.is_a?(Numeric) && seconds.real?
          raise type("#{name}:", "a number of seconds#{", or nil" if optional}", seconds)
        end
        raise value("#{name}:", "at least 0 seconds", seconds) unless seconds >= 0
      end

      def found_encoding
        wanted = @options[:encoding] || Encoding.default_external
        Encoding.find(wanted)
      rescue ArgumentError, TypeError
        raise value("encoding:", "an Encoding or its name", wanted)
      end

      def value(argument, allowed, got) = Errors.bad_value(operation, argument, allowed, got)

      def type(argument, allowed, got) = Errors.bad_type(operation, argument, allowed, got)
    end
  end
end
