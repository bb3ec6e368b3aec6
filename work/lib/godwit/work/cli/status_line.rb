# frozen_string_literal: true

module Godwit
  module Work
    module CLI
      # The line that `run` prints each second on a terminal. The next output overwrites this line.
      class StatusLine
        SECOND = 1.0
        CLEAR = "\e[K"
        private_constant :SECOND, :CLEAR

        # @param runner [Runner]
        # @param client [Client] the runner's client
        # @param groups [Array<Array(String, String)>] each group of the runner, and its topic
        # @param io [IO]
        def initialize(runner, client, groups, io)
          @runner = runner
          @client = client
          @groups = groups
          @io = io
          @failed = 0
          client.on(:failed) { @failed += 1 }
          @before = [Timeout.now, 0, 0]
        end

        # Prints the line each second until the block ends.
        # @return [Object] the block's value
        def during
          printing = Thread.new { loop { sleep(SECOND).then { print_line } } }
          yield
        ensure
          printing.kill.join
          @io.print CLEAR
        end

        # @return [String] the rates of handled and failed records since the last call, and the lag
        def text
          now = [Timeout.now, @runner.handled, @failed]
          seconds, handled, failed = now.zip(@before).map { |new, old| new - old }
          @before = now
          format("%.0f records/s, %.0f failed/s, lag %d", handled / seconds, failed / seconds, lag)
        end

        private

        def print_line
          @io.print text, CLEAR, "\r"
          @io.flush
        rescue Error, SystemCallError # the log is locked, for example: the next line may succeed
          nil
        end

        def lag
          groups = @client.groups.select { |one| @groups.include?([one.group, one.topic]) }
          groups.sum(&:lag)
        end
      end
      private_constant :StatusLine
    end
  end
end
