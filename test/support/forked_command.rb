# frozen_string_literal: true

require "io/console"
require "pty"

module Godwit
  module TestSupport
    # A command `godwit` in a forked process, with pipes or a terminal as its standard streams. That
    # is quicker than a new Ruby.
    class ForkedCommand
      DEADLINE = 30 # seconds
      END_OF_INPUT = "\x04" # as typed in a terminal

      # Loads what a command needs, once for all forks.
      def self.prepare
        require "json"
        @prepared ||= CLI.command("pull").new.help_text
      end

      # @return [String] what it has written
      attr_reader :output, :errors

      # @param words [Array<#to_s>] the command line
      # @param terminal [Boolean]
      def initialize(*words, terminal: false)
        ForkedCommand.prepare
        @terminal = terminal
        @deadline = now + DEADLINE
        input, @input, @out, output = terminal ? open_terminal : [*IO.pipe, *IO.pipe]
        @err, errors = IO.pipe
        @output, @errors = (+"").b, (+"").b
        @open = {@out => @output, @err => @errors}
        @pid = fork { run(words.map(&:to_s), input, output, errors) }
        [input, output, errors].uniq.each(&:close)
      end

      # @param text [String] for its standard input
      def write(text)
        @input.write(text)
        @input.flush
        self
      end

      # Ends its standard input.
      def end_input
        @terminal ? write(END_OF_INPUT) : @input.close
        self
      end

      # @param text [String, Regexp] waits until the output has it
      # @param once [Boolean] stops reading the output then
      def wait_for(text, in_errors: false, once: false)
        text = Regexp.new(Regexp.escape(text.b), Regexp::NOENCODING) if text.is_a?(String)
        pump until (in_errors ? @errors : @output).match?(text)
        @open.delete(@out) if once
        self
      end

      # Closes its output, as `head` does.
      def close_output
        @open.delete(@out)
        @out.close
        self
      end

      # @return [self]
      def signal(name)
        Process.kill(name, @pid)
        self
      end

      # Waits for the end.
      # @return [Process::Status]
      def finish
        pump until @open.empty?
        _, status = Process.wait2(@pid)
        @pid = nil
        @input.close unless @input.closed?
        status
      ensure
        kill
      end

      # @return [Integer, String] as a shell reports the end: a status, or a signal's name
      def status = finish.then { |one| one.exitstatus || Signal.signame(one.termsig) }

      # Ends it if a test has failed.
      def kill
        return unless @pid
        Process.kill(:KILL, @pid)
        Process.wait(@pid)
        @pid = nil
      end

      private

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      # Its lines end with "\n" alone, and it does not show the input.
      def open_terminal
        master, slave = PTY.open
        system("stty", "-echo", "-opost", in: slave, exception: true)
        [slave, master, master, slave]
      end

      def run(words, *streams)
        [@input, @out, @err].uniq.each(&:close)
        [$stdin, $stdout, $stderr].zip(streams) { |own, stream| own.reopen(stream) }
        $stdout.sync = $stderr.sync = true
        Process.exit!(CLI.run(words))
      rescue SignalException => signal
        trap(signal.signo, "SYSTEM_DEFAULT")
        Process.kill(signal.signo, Process.pid)
        sleep
      rescue Exception => error # standard:disable Lint/RescueException
        warn error.full_message
        Process.exit!(99)
      end

      # Takes over new output.
      def pump
        ready, = IO.select(@open.keys, nil, nil, [@deadline - now, 0].max)
        raise Minitest::Assertion, "no end: #{@output.inspect} #{@errors}" unless ready
        ready.each { |io| take(io) }
      end

      def take(io)
        @open.fetch(io) << io.read_nonblock(65_536)
      rescue EOFError, Errno::EIO # EIO: nobody has the terminal open any more
        @open.delete(io)
      end
    end
  end
end
