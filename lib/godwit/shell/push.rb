# frozen_string_literal: true

require "json"

module Godwit
  module Shell
    # Rows to a PUSH, with an end: what `godwit sh push` does. Each row is a message, shared out
    # among those that pull. When the command has ended, each of them is told so, and with what
    # status ({Pull} understands it), and leaves. When all have left before that, as in `… | head`,
    # the command is stopped.
    #
    #     socket = Godwit::PUSH.new
    #     push = Godwit::Shell::Push.new(socket) # before bind or connect: it counts who comes
    #     socket.bind("tcp://*:7100")
    #     push.run(Godwit::Shell.rows("find", "/"))
    #
    # The end is a message of two frames, `end` and a JSON object; a row is always one of one frame
    # (with `err: :rows` of two, `out` or `err` and the row).
    #
    # What libzmq had on its way to one that was killed is lost. One thread may use it.
    class Push
      # The first frame of the last message.
      END_OF_ROWS = "end"

      LEAVING = 1 # seconds that those who pull have in any case to take the end
      # Seconds after which those that have not left are told again: at first, at most.
      AGAIN = [0.1, 5].freeze
      private_constant :LEAVING, :AGAIN

      # @return [Boolean] whether all that pulled had left before the end
      def left? = @left && !@ending

      # @param socket [Socket] a PUSH that is neither bound nor connected yet; its linger becomes a
      #   moment, and {#run} closes it
      # @raise [ArgumentTypeError] when it is no PUSH
      # @raise [StateError] when it has endpoints
      def initialize(socket)
        unless socket.is_a?(Socket) && socket.type == :PUSH
          raise Errors.bad_type(:push, "the socket", "a PUSH", socket)
        end
        Push.check_new(:push, socket)
        @socket = socket
        # Run itself waits; and libzmq would wait for one that has left, with the linger of its
        # coming.
        socket.linger = Context::BRIEF_LINGER
        @lock = Mutex.new
        @news = ConditionVariable.new
        @peers = @owed = 0
        Peers.new(socket) { |change| note(change) }
      end

      # @private
      def self.check_new(operation, socket)
        return if socket.endpoints.empty?
        raise StateError.new(
          "#{operation}: the socket is bound or connected already, and who came is not " \
          "counted: give a new one",
          operation: operation
        )
      end

      # @private
      # @return [Integer, nil] as a shell says it: 128 and the number of the signal that ended it; 0
      #   when it was stopped on purpose
      def self.exitstatus(status)
        return 0 if status.stopped?
        return if status.timed_out? || status.unknown?
        status.exitstatus || 128 + Signal.list.fetch(status.signal.to_s, 0)
      end

      # Runs the command, sends its rows, tells those that pull of the end, and waits until they
      # have left. At least one has to come.
      # @param stream [Stream] of {Shell.rows} or {Shell.pipe}
      # @param timeout [Integer, Float, nil] seconds for all of it
      # @param count [Integer, nil] ends after so many rows, 1 or more
      # @return [Status]
      # @raise [TimeoutError] when time is up
      # @raise [UnsupportedError] over inproc, where libzmq does not tell who comes and goes
      # @raise [SystemCallError, RowTooLongError] as {Stream#each}
      def run(stream, timeout: nil, count: nil)
        unless stream.is_a?(Stream)
          raise Errors.bad_type(:push, "the stream", "what Shell.rows gives", stream)
        end
        Bridges.check_count(:push, count)
        check_transport
        Timeout.milliseconds(timeout)
        @until = timeout && Timeout.now + timeout
        @stream = stream
        status = send_rows(count)
        tell_of_end(status) unless @left
        status
      ensure
        @socket.close
      end

      private

      def check_transport
        return if @socket.endpoints.none? { |endpoint| endpoint.start_with?("inproc:") }
        raise Errors.build(
          UnsupportedError, :push, @socket.endpoints.first,
          "over inproc libzmq does not tell who comes and goes: take Stream#into"
        )
      end

      def send_rows(count)
        given_up = ->(_job) { raise ClosedError, "push: nobody pulls any more" if @left }
        @stream.__send__(:batches, started: given_up, count: count) do |rows|
          @socket.send_many(Bridges.messages(rows), timeout: left)
        end
      rescue ClosedError
        raise unless @left
        @stream.status
      end

      def left = @until && [@until - Timeout.now, 0].max

      def note(change)
        leaves = @lock.synchronize do
          @peers += change
          @left = true if @peers.zero?
          @owed = @peers if @ending
          @news.broadcast
          @left
        end
        return unless leaves
        @socket.close
        @stream&.close
      end

      # libzmq chooses who gets a message: one may get two ends and another none, and what it hands
      # to one that is just leaving is lost. So whenever one comes or leaves, and from time to time,
      # all are told once more.
      def tell_of_end(status)
        @until = [@until, Timeout.now + LEAVING].max if @until
        message = [
          END_OF_ROWS, JSON.generate(id: Process.pid.to_s(36) + object_id.to_s(36), **facts(status))
        ]
        @pause = AGAIN.first
        @lock.synchronize do
          @ending = true
          tell_all
        end
        while owes?
          # Has libzmq look who came; while it sends it does so every few milliseconds only.
          @socket.events
          @socket.send(message, timeout: left)
        end
      rescue ClosedError
        raise unless @left
      end

      def facts(status)
        {
          exitstatus: Push.exitstatus(status), signal: status.signal, timed_out: status.timed_out,
          rows: status.rows
        }
      end

      # Waits until somebody has to be told.
      def owes?
        @lock.synchronize do
          until @left || @owed.positive?
            if left&.zero?
              raise TimeoutError,
                "push: time is up, " \
                "and #{@peers.zero? ? "nobody came to pull" : "#{@peers} still pull"}"
            end
            @news.wait(@lock, [[@until, @again].compact.min - Timeout.now, 0].max)
            tell_all if Timeout.now >= @again
          end
          @owed -= 1
          !@left
        end
      end

      def tell_all
        @owed = @peers
        @again = Timeout.now + @pause
        @pause = [@pause * 2, AGAIN.last].min
      end
    end
  end
end
