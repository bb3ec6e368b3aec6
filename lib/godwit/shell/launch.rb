# frozen_string_literal: true

module Godwit
  module Shell
    # Starts the commands of a plan, with pipes between them and to this process. On failure it
    # closes its pipes; the caller stops the processes.
    # @private
    class Launch
      NO_DESCRIPTOR = "this process has no file descriptor left: close some, or raise ulimit -n"

      # @return [IO, nil] this process's end of a pipe to the commands; nil: there is no such pipe
      attr_reader :out, :err, :input
      attr_reader :content

      def initialize(plan, processes)
        @plan = plan
        @processes = processes
        @child_ends = []
        JavaModules.check(plan.operation) if RUBY_ENGINE == "jruby"
        check_folder
        plan.pty ? start_in_terminal : start
        ready = true
      ensure
        [@out, @err, @input].each { |io| io&.close } unless ready
        @child_ends&.each(&:close)
      end

      private

      def start
        from = first_input
        to = last_output
        error = error_output
        *upstream, last = @plan.commands
        upstream.each do |words|
          following, out = pipe
          @child_ends << following << out
          spawn(words, in: from, out: out, err: (error == :merge) ? to : error)
          from = following
        end
        spawn(last, in: from, out: to, err: (error == :merge) ? [:child, :out] : error)
      end

      def spawn(words, **streams)
        pid = starting(words) { Process.spawn(*command(words), **@plan.spawn_options, **streams) }
        @processes.add(Child.new(pid, words, group: !@plan.foreground))
      end

      def start_in_terminal
        if RUBY_ENGINE == "jruby"
          raise Errors.build(UnsupportedError, @plan.operation, nil,
            "JRuby gives a child no terminal: leave pty: out")
        end
        words = @plan.commands.first
        # PTY.spawn makes a session, and so a process group, for the command.
        options = @plan.spawn_options.except(:pgroup, :close_others)
        @out, terminal, pid = starting(words) { PTY.spawn(*command(words), **options) }
        @processes.add(Child.new(pid, words))
        return terminal.close if @plan.input.nil?
        @input = terminal
        @content = Input.new(@plan.operation, @plan.input)
      end

      def command(words)
        variables = @plan.env&.to_h { |name, value| [name.to_s, value&.to_s] }
        [variables, [words.first, words.first], *words.drop(1)].compact
      end

      def starting(words)
        yield
      rescue SystemCallError => error
        raise Errors.build(error.errno, @plan.operation, words.first, fix(error, words)), cause: nil
      end

      def fix(error, words)
        case error
        when Errno::ENOENT
          if words.size == 1 && words.first.b.match?(/\s/)
            "a command line as one String needs shell: true; else give program and arguments " \
              "one by one"
          else
            "no such program on PATH, or no interpreter for the script"
          end
        when Errno::EACCES then "it is not executable"
        when Errno::EMFILE then NO_DESCRIPTOR
        when Errno::E2BIG then "too many arguments: give them as input:, or by xargs"
        end
      end

      # For a wrong `chdir:` Ruby's own error may name the program, and JRuby raises none.
      def check_folder
        folder = @plan.chdir or return
        stat = File.stat(folder)
        raise SystemCallError.new(nil, Errno::ENOTDIR::Errno) unless stat.directory?
        raise SystemCallError.new(nil, Errno::EACCES::Errno) unless stat.executable?
      rescue SystemCallError => error
        raise Errors.build(error.errno, @plan.operation, folder,
          "chdir: takes a folder that this user may enter"), cause: nil
      end

      def first_input
        given = @plan.input
        if given.nil?
          return File::NULL unless @plan.foreground
          given = STDIN # standard:disable Style/GlobalStdStream -- the descriptor 0
          return :in if given.closed? || given.tty?
        end
        io = opened(:input, given)
        return io if io && Redirection.settle(io)
        @content = Input.new(@plan.operation, given)
        reading, @input = pipe
        child_end(reading)
      end

      def last_output
        return :out if @plan.outward
        @out, writing = pipe
        child_end(writing)
      end

      def error_output
        case @plan.err
        when :inherit then :err
        when :merge then :merge
        when :discard then File::NULL
        else
          return opened(:err, @plan.err) if Redirection.direct?(@plan.err)
          @err, writing = pipe
          child_end(writing)
        end
      end

      # @return [IO, nil] nil: a thread must read the object (no IO, or a FIFO whose open may wait)
      def opened(option, given)
        if Redirection.file?(given)
          return if option == :input && File.pipe?(given)
          return child_end(Redirection.open(@plan.operation, option, given))
        end
        io = Redirection.io(given) or return
        if io.closed?
          raise Errors.bad_value(@plan.operation, "#{option}:", "an IO that is open", io)
        end
        # Ruby 3.4's flush drops the bytes that Ruby has read ahead from a pipe.
        Redirection.flush(io) unless option == :input && !io.stat.file?
        io
      end

      # Lists the child's end of a pipe: this process closes it once the child has started.
      def child_end(io)
        @child_ends << io
        io
      end

      def pipe
        IO.pipe.each(&:binmode).each { |io| io.sync = true }
      rescue SystemCallError => error
        raise Errors.build(error.errno, @plan.operation, nil, NO_DESCRIPTOR), cause: nil
      end
    end
  end
end
