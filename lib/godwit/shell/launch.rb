# frozen_string_literal: true

module Godwit
  module Shell
    # Starts the commands of a plan, with pipes between them and to us. Keeps our ends of the pipes;
    # on failure no pipe is left, and the caller stops the processes.
    # @private
    class Launch
      # @return [IO, nil] to read from; nil where the plan wants none
      attr_reader :out, :err
      # @return [IO, nil] to write the input to
      attr_reader :input

      # @param processes [Processes] takes each child as it starts
      # @raise [SystemCallError] naming the program, or the folder
      def initialize(plan, processes)
        @plan = plan
        @processes = processes
        @theirs = []
        JavaModules.check(plan.operation) if RUBY_ENGINE == "jruby"
        check_folder
        plan.pty ? start_in_terminal : start
        ready = true
      ensure
        [@out, @err, @input].each { |io| io&.close } unless ready
        @theirs&.each(&:close)
      end

      private

      def start
        from = first_input
        to = last_output
        error = error_output
        *upstream, last = @plan.commands
        upstream.each do |words|
          following, out = pipe { |both| @theirs.concat(both) }
          spawn(words, in: from, out: out, err: (error == :merge) ? to : error)
          from = following
        end
        spawn(last, in: from, out: to, err: (error == :merge) ? [:child, :out] : error)
      end

      def spawn(words, **streams)
        pid =
          starting(words) do
            Process.spawn(
              *environment, [words.first, words.first], *words.drop(1), **@plan.place, **streams
            )
          end
        @processes.add(Child.new(pid, words, group: !@plan.foreground))
      end

      def start_in_terminal
        if RUBY_ENGINE == "jruby"
          raise Errors.build(
            UnsupportedError, @plan.operation, nil,
            "JRuby gives a child no terminal: leave pty: out"
          )
        end
        words = @plan.commands.first
        # It has a session of its own.
        options = @plan.place.reject { |name, _| name == :pgroup || name == :close_others }
        @out, terminal, pid =
          starting(words) do
            PTY.spawn(*environment, [words.first, words.first], *words.drop(1), **options)
          end
        @processes.add(Child.new(pid, words))
        @plan.input ? @input = terminal : terminal.close
      end

      def starting(words)
        yield
      rescue SystemCallError => error
        raise Errors.build(error.errno, @plan.operation, words.first, hint(error, words)),
          cause: nil
      end

      def hint(error, words)
        case error
        when Errno::ENOENT
          if words.size == 1 && words.first.b.match?(/\s/)
            return (
              "a command line as one String needs shell: true; else give program and arguments " \
              "one by one"
            )
          end
          "no such program on PATH, or no interpreter for the script"
        when Errno::EACCES
          "it is not executable"
        when Errno::EMFILE
          "this process has no file descriptor left: close some, or raise ulimit -n"
        when Errno::E2BIG
          "too many arguments: give them as input:, or by xargs"
        end
      end

      # Ruby's own error may name the program instead, and JRuby has none.
      def check_folder
        place = @plan.chdir&.to_s or return
        stat = File.stat(place)
        errno = stat.directory? ? Errno::EACCES::Errno : Errno::ENOTDIR::Errno
        raise SystemCallError.new(nil, errno) unless stat.directory? && stat.executable?
      rescue SystemCallError => error
        raise Errors.build(
          error.errno, @plan.operation, place, "chdir: takes a folder that this user may enter"
        ),
          cause: nil
      end

      def environment
        @plan.env ? [@plan.env.to_h { |name, value| [name.to_s, value&.to_s] }] : []
      end

      def first_input
        return @plan.foreground ? :in : File::NULL if @plan.input.nil?
        io = opened(:input) and return io
        pipe do |(reading, writing)|
          @theirs << reading
          @input = writing
        end.first
      end

      def last_output
        return :out if @plan.outward
        pipe do |(reading, writing)|
          @out = reading
          @theirs << writing
        end.last
      end

      # @return [IO, nil] that the option gives
      def opened(option)
        io = IO.try_convert(@plan.public_send(option))
        return io unless io&.closed?
        raise Errors.bad_value(@plan.operation, "#{option}:", "an IO that is open", io)
      end

      def error_output
        case @plan.err
        when :inherit then :err
        when :merge then :merge
        when :discard then File::NULL
        else
          return opened(:err) unless @plan.err_piped?
          pipe do |(reading, writing)|
            @err = reading
            @theirs << writing
          end.last
        end
      end

      def pipe
        IO.pipe.each(&:binmode).each { |io| io.sync = true }.tap { |both| yield both }
      rescue SystemCallError => error
        raise Errors.build(
          error.errno, @plan.operation, nil,
          "this process has no file descriptor left: close some, or raise ulimit -n"
        ),
          cause: nil
      end
    end
  end
end
