# frozen_string_literal: true

module Godwit
  module Shell
    # Writes a command's input on a thread. A command that stops reading is no error.
    # @private
    class StdinWriter
      END_OF_INPUT = "\x04" # Control-D, as a user types it at a terminal

      # @return [Exception, nil] the exception of the input's own `each` or `read`
      attr_reader :error

      def initialize(input, pipe, processes, terminal: false)
        @pipe = pipe
        @thread = Thread.new do
          # The thread inherits an interrupt mask that defers kills.
          Thread.handle_interrupt(Object => :immediate) { pump(input, pipe, processes, terminal) }
        end
        @thread.name = "godwit shell input"
        @thread.report_on_exception = false
      end

      def kill = @thread.kill

      # Kills the thread. Waits at most a second for its end: the input's code may delay it.
      def finish
        @thread.kill
        @thread.join(1) unless @thread == Thread.current
      end

      private

      def pump(input, pipe, processes, terminal)
        input.each_piece { |piece| write(pipe, piece) or break }
        write(pipe, END_OF_INPUT) if terminal
      rescue Exception => error # standard:disable Lint/RescueException -- raised to the reader
        @error = error
        processes.signal(:TERM)
      ensure
        close(pipe) unless terminal
      end

      # @return [Boolean] false when the command closed its stdin, or the run has closed the pipe
      def write(pipe, piece)
        pipe.write(piece)
        true
      rescue Errno::EPIPE, Errno::EIO
        false
      rescue IOError
        raise unless pipe.closed?
        false
      end

      # Java closes the pipe when the thread is killed while it writes.
      def close(pipe)
        pipe.close
      rescue SystemCallError, IOError
        nil
      end
    end
  end
end
