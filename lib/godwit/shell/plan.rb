# frozen_string_literal: true

module Godwit
  module Shell
    # The commands and options of a call, checked before anything starts.
    # @private
    class Plan
      DEFAULTS = {
        shell: false, env: nil, chdir: nil, unsetenv_others: false, pty: false, foreground: false,
        input: nil, err: :inherit, sep: "\n", chomp: true, limit: 1 << 20, long: :raise,
        encoding: nil, reuse: false, timeout: nil, idle: nil, grace: 2, drain: 1, ok: [0].freeze,
        umask: nil
      }.freeze
      LONG = %i[raise split cut].freeze
      STREAMS = %i[inherit merge discard tail rows].freeze

      # @return [Array<Array<String>>] program and arguments of each command of the pipeline
      attr_reader :commands
      # @return [Symbol] the public method, for error messages
      attr_reader :operation
      # @return [Boolean] whether the output goes to this process's stdout
      attr_reader :outward

      def initialize(operation, commands, options, outward: false)
        @operation = operation
        check_ractor
        @outward = outward
        check_names(options.keys)
        @options = DEFAULTS.merge(options)
        @options[:ok] = Array(@options[:ok])
        commands = with_environment(commands)
        check(commands.any?,
          "the commands", "one Array for each, with program and arguments", commands)
        @commands = commands.map { |command| words(command).freeze }.freeze
        check_environment
        check_statuses
        check_folder
        check_terminal if pty
        check_streams
        check_framing
        %i[timeout idle grace drain].each { |name| check_seconds(name, optional: name != :grace) }
        %i[timeout idle drain].each do |name|
          @options[name] = nil if @options[name] && @options[name] >= Timeout::MAX
        end
      end

      DEFAULTS.each_key { |name| define_method(name) { @options[name] } unless name == :encoding }

      def with(**options)
        dup.tap { |plan| plan.instance_variable_set(:@options, @options.merge(options)) }
      end

      def encoding = @encoding ||= found_encoding
      def name = @commands.map { |words| Plan.shown(words, shell) }.join(" | ")

      def spawn_options
        {
          pgroup: (true unless foreground), close_others: true,
          unsetenv_others: @options[:unsetenv_others] && true, chdir: chdir,
          umask: umask
        }.compact
      end

      def self.check_count(operation, count)
        return if count.nil?
        Errors.check_positive(operation, "count:", "a number of rows, 1 or more, or nil", count)
      end

      # @return [String] a command line; the words may have different encodings
      def self.shown(words, shell = false)
        words = words.map { |word| word.b.force_encoding(Encoding::UTF_8).scrub("?") }
        return words.last if shell
        quoted = words.map do |word|
          word.match?(%r{\A[\w@%+=:,./-]+\z}) ? word : "'#{word.gsub("'", "'\\\\''")}'"
        end
        quoted.join(" ")
      end

      private

      def check_names(names)
        unknown = names - DEFAULTS.keys
        return if unknown.empty?
        unknown, known = [unknown, DEFAULTS.keys].map { |list| list.map { "#{_1}:" }.join(", ") }
        raise Errors.of(ArgumentValueError, operation, "no option #{unknown}; there are #{known}")
      end

      # {Reaper}, which ends commands at exit, belongs to the main Ractor.
      def check_ractor
        return if Runtime.main_ractor?
        raise Errors.build(UnsupportedError, operation, nil, "commands run in the main Ractor only")
      end

      # A Hash before the first command holds variables, as for Process.spawn.
      def with_environment(commands)
        first, *rest = commands
        return commands unless first.is_a?(Array) && first.first.is_a?(Hash)
        variables, *words = first
        check_environment # checks the keyword's value, before it is merged with the Hash
        @options[:env] = {**variables, **env.to_h}
        words.empty? ? rest : [words, *rest]
      end

      def words(command)
        command = command.first if command.size == 1 && command.first.is_a?(Array)
        check(!command.empty?, "a command", "a program and its arguments", command)
        return shell_words(command) if shell
        words = command.map { |word| checked(word) }
        check(!words.first.empty?, "a command", "the name of a program", command.first)
        words
      end

      def shell_words(command)
        check(command.size == 1 && command.first.is_a?(String), "shell: true",
          "one String for the shell; without it, program and arguments one by one", command)
        text = checked(command.first)
        check(!text.b.strip.empty?, "a command", "a String that is not empty", text)
        ["/bin/sh", "-c", text]
      end

      def checked(word)
        text = word.respond_to?(:to_path) ? word.to_path : word
        text = text.to_s if text.is_a?(Symbol) || text.is_a?(Integer)
        check_type(text.is_a?(String), "a command", "Strings, one for each argument", word)
        check(!text.b.include?("\0"), "a command", "Strings without a NUL byte", text)
        text
      end

      def check_environment
        check_type(env.nil? || env.is_a?(Hash), "env:", "a Hash of Strings", env)
        wrong = env&.any? { |key, text| key.to_s.match?(/[=\0]|\A\z/) || text.to_s.include?("\0") }
        check(!wrong, "env:", "names without \"=\" and NUL, values without NUL", env)
      end

      def check_statuses
        check(ok.any? && ok.all? { |one| number?(one, 0..255) },
          "ok:", "exit statuses, each 0 to 255", ok)
        check(umask.nil? || number?(umask, 0..0o777), "umask:", "a number from 0 to 0777", umask)
      end

      def check_folder
        return if chdir.nil?
        check_type(chdir.is_a?(String) || chdir.respond_to?(:to_path),
          "chdir:", "a path: a String, a Pathname, a Dir", chdir)
        path = chdir.is_a?(String) ? chdir : chdir.to_path
        check(!path.include?("\0"), "chdir:", "a path without NUL", chdir)
        @options[:chdir] = path
      end

      def check_terminal
        check(@commands.one?, "pty: true", "one command", name)
        check(!foreground, "foreground: true", "no pty: (which is a terminal of its own)", pty)
        check(err == :inherit, "err: with pty: true", ":inherit (a terminal has one output)", err)
      end

      def check_streams
        check(STREAMS.include?(err) || Redirection.err?(err), "err:",
          "#{STREAMS.map(&:inspect).join(", ")}, a Proc, an IO, a Pathname, or what has write", err)
        check_type(Redirection.input?(input),
          "input:", "a String, an IO, a Pathname, or what has read(bytes) or each", input)
      end

      def check_framing
        check(sep.is_a?(String) ? !sep.empty? : sep == :chunk,
          "sep:", "a String that is not empty, or :chunk", sep)
        check(number?(limit, 1...(1 << 62)), "limit:", "a number of bytes from 1 on", limit)
        check(LONG.include?(long), "long:", LONG.map(&:inspect).join(", "), long)
        check(encoding.ascii_compatible? || sep == :chunk,
          "encoding:", "one that has ASCII in it (for others take sep: :chunk)", encoding)
      end

      def check_seconds(name, optional:)
        seconds = @options[name]
        return if seconds.nil? && optional
        check_type(seconds.is_a?(Numeric) && seconds.real?,
          "#{name}:", "a number of seconds#{", or nil" if optional}", seconds)
        check(seconds >= 0, "#{name}:", "at least 0 seconds", seconds)
      end

      def number?(value, range) = value.is_a?(Integer) && range.cover?(value)

      def found_encoding
        wanted = @options[:encoding] || Encoding.default_external
        Encoding.find(wanted)
      rescue ArgumentError, TypeError
        check(false, "encoding:", "an Encoding or its name", wanted)
      end

      def check(holds, argument, allowed, got)
        raise Errors.bad_value(operation, argument, allowed, got) unless holds
      end

      def check_type(holds, argument, allowed, got)
        raise Errors.bad_type(operation, argument, allowed, got) unless holds
      end
    end
  end
end
