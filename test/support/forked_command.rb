# frozen_string_literal: true

require "io/console"
require "pty"
require_relative "child"

module Godwit
  module TestSupport
    # The command `godwit` in a forked process, with pipes or a terminal as its standard streams. A
    # fork is quicker than a new Ruby.
    class ForkedCommand < Children::Child
      END_OF_INPUT = "\x04" # Ctrl-D in a terminal

      # Loads the command's code once, before all forks.
      def self.prepare
        require "json"
        @prepared ||= CLI.command("pull").new.help_text
      end

      # @param words [Array<#to_s>] the command line
      # @param terminal [Boolean]
      # @param merge [Boolean] whether standard error goes into standard output
      # @param env [Hash{String => String}] environment variables
      def initialize(*words, terminal: false, merge: false, env: {}, deadline: 90)
        ForkedCommand.prepare
        @terminal = terminal
        ends = terminal ? open_terminal : [*IO.pipe, *IO.pipe]
        begin_with(deadline, *ends) do |input, output, errors|
          fork do
            Process.setpgid(0, 0) # Child ends the whole process group
            run(words.map(&:to_s), env, input, output, merge ? output : errors)
          end
        end
        [@stdout, @stderr].each { |text| text.force_encoding(Encoding::BINARY) }
      end

      # @param text [String] text for the command's standard input
      def write(text)
        @stdin.write(text)
        self
      end

      # Closes the command's standard input.
      def end_input
        @terminal ? write(END_OF_INPUT) : @stdin.close
        self
      end

      # Stops reading the command's output.
      # @param close [Boolean] whether to close the pipe too, as `head` does
      def ignore_output(close: false)
        @open.delete(@out)
        @out.close if close
        self
      end

      # @return [Integer, String] the exit status, or the name of the signal that ended the command
      def status
        result = finish
        raise Minitest::Assertion, "no end: #{result}" if result.timed_out
        result.status.exitstatus || Signal.signame(result.status.termsig)
      end

      private

      # Does nothing. Child#finish calls this method; to close the input would end the command.
      def close_input = nil

      # Opens a terminal without echo whose lines end with "\n" alone.
      def open_terminal
        master, slave = PTY.open
        system("stty", "-echo", "-opost", in: slave, exception: true)
        [slave, master, master, slave]
      end

      def run(words, env, *streams)
        ENV.update(env)
        [@stdin, @out, @err].uniq.each(&:close)
        [$stdin, $stdout, $stderr].zip(streams) { |own, stream| own.reopen(stream) }
        $stdout.sync = $stderr.sync = true
        status = CLI.run(words)
        Godwit.context.close # waits for linger, as a process's exit does
        Process.exit!(status)
      rescue SignalException => signal
        trap(signal.signo, "SYSTEM_DEFAULT")
        Process.kill(signal.signo, Process.pid)
        sleep
      rescue Exception => error # standard:disable Lint/RescueException
        warn error.full_message
        Process.exit!(99)
      end
    end

    # Starts commands; the teardown of the test ends them.
    module ForkedCommands
      # @return [ForkedCommand]
      def start(*words, **options)
        ForkedCommand.new(*words, **options).tap { |command| (@commands ||= []) << command }
      end

      def teardown
        running = (@commands || []).reject(&:finished?)
        running.each { |command| command.signal(:TERM).finish }
        super
        running.each(&:status) # raises for a command that did not end by itself
      end
    end
  end
end
