# frozen_string_literal: true

require "io/console"
require "pty"
require_relative "child"

module Godwit
  module TestSupport
    # A command `godwit` in a forked process, with pipes or a terminal as its standard streams. That
    # is quicker than a new Ruby.
    class ForkedCommand < Children::Child
      END_OF_INPUT = "\x04" # as typed in a terminal

      # Loads what a command needs, once for all forks.
      def self.prepare
        require "json"
        @prepared ||= CLI.command("pull").new.help_text
      end

      # @param words [Array<#to_s>] the command line
      # @param terminal [Boolean]
      def initialize(*words, terminal: false, deadline: 30)
        ForkedCommand.prepare
        @terminal = terminal
        begin_with(deadline, *(terminal ? open_terminal : [*IO.pipe, *IO.pipe])) do |*streams|
          fork { run(words.map(&:to_s), *streams) }
        end
        [@stdout, @stderr].each { |text| text.force_encoding(Encoding::BINARY) }
      end

      # @param text [String] for its standard input
      def write(text)
        @stdin.write(text)
        self
      end

      # Ends its standard input.
      def end_input
        @terminal ? write(END_OF_INPUT) : @stdin.close
        self
      end

      # Stops reading its output.
      # @param close [Boolean] closes it, as `head` does
      def ignore_output(close: false)
        @open.delete(@out)
        @out.close if close
        self
      end

      # @return [Integer, String] as a shell reports the end: a status, or a signal's name
      def status
        result = finish
        raise Minitest::Assertion, "no end: #{result}" if result.timed_out
        result.status.exitstatus || Signal.signame(result.status.termsig)
      end

      private

      # The end of its input would end it.
      def close_input = nil

      # Its lines end with "\n" alone, and it does not show the input.
      def open_terminal
        master, slave = PTY.open
        system("stty", "-echo", "-opost", in: slave, exception: true)
        [slave, master, master, slave]
      end

      def run(words, *streams)
        [@stdin, @out, @err].uniq.each(&:close)
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
    end
  end
end
