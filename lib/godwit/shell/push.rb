# frozen_string_literal: true

require "json"
require_relative "../peer_counter"

module Godwit
  module Shell
    # Counts a socket's peers on a thread, by libzmq's monitor, until the socket closes. The socket
    # itself counts them only until its first message.
    # @private
    class Peers
      # The socket must have no endpoint yet. The block gets each change of the number of peers.
      def initialize(socket, &changed)
        @counter = PeerCounter.new(socket.context.io_threads)
        @changed = changed
        thread = socket.on_event(*PeerCounter::KINDS.keys, limit: nil) { |event| record(event) }
        thread.name = "godwit shell peers"
      end

      private

      def record(event)
        before = known
        @counter.record(event.name, event.fd)
        @came ||= @counter.established > 0
        change = known - before
        @changed.call(change) unless change.zero?
      end

      # The counter may mistake the end of another connection for that of a peer. So one peer counts
      # as connected until no connection is open.
      def known = [@counter.established, (@came && @counter.open > 0) ? 1 : 0].max
    end

    # Sends rows to a PUSH, and then the end to the peers, for `godwit sh push`. Each row
    # is a message; the pulling peers share the rows. The end is the command's status: each peer
    # gets it after the last row, and disconnects ({Pull}). When all peers disconnect before that,
    # as in `… | head`, the command is stopped.
    #
    #     socket = Godwit::PUSH.new
    #     push = Godwit::Shell::Push.new(socket) # before bind or connect: it counts the peers
    #     socket.bind("tcp://*:7100")
    #     push.run(Godwit::Shell.rows("find", "/"))
    #
    # The end is a message of two frames, `end` and a JSON object; a row has one frame (with `err:
    # :rows` two, `out` or `err` and the row).
    #
    # Rows that libzmq has queued for a killed peer are lost. Only one thread may use a Push.
    class Push
      # The first frame of the message that ends the rows.
      END_OF_ROWS = "end"

      END_TIMEOUT = 1 # least seconds that the peers have to receive the end message
      # Seconds until the Push sends the end message again: the first pause, and the longest.
      AGAIN = [0.1, 5].freeze
      private_constant :END_TIMEOUT, :AGAIN

      # @return [Boolean] whether all peers had disconnected before the end message was sent
      def left? = @departed && !@ending

      # @param socket [Socket] a PUSH that is neither bound nor connected yet; `new` lowers its
      #   linger to {Context::BRIEF_LINGER}, and {#run} closes the socket
      # @raise [ArgumentTypeError] when `socket` is no PUSH
      # @raise [StateError] when `socket` has endpoints
      def initialize(socket)
        Push.check_socket(:push, :PUSH, socket)
        @socket = socket
        # {#run} waits for the peers. With more linger libzmq would wait for a departed peer.
        socket.linger = Context::BRIEF_LINGER
        @lock = Mutex.new
        @changed = ConditionVariable.new
        @peers = @ends_due = 0
        Peers.new(socket) { |change| record_change(change) }
      end

      # @private
      def self.check_socket(operation, type, socket)
        unless socket.is_a?(Socket) && socket.type == type
          raise Errors.bad_type(operation, "the socket", "a #{type}", socket)
        end
        return if socket.endpoints.empty?
        raise Errors.of(StateError, operation,
          "the socket is bound or connected already, and its peers are not counted: give a new one")
      end

      # @private
      def self.check_transport(operation, socket, instead)
        return if socket.endpoints.none? { |endpoint| endpoint.start_with?("inproc:") }
        raise Errors.build(UnsupportedError, operation, socket.endpoints.first,
          "over inproc libzmq reports no connections: take #{instead}")
      end

      # @private
      # @return [Integer, nil] the exit status as a shell reports it: after a signal, 128 plus its
      #   number; 0 when the command was stopped on purpose
      def self.exitstatus(status)
        return 0 if status.stopped?
        return if status.timed_out? || status.unknown?
        status.exitstatus || 128 + Signal.list.fetch(status.signal.to_s, 0)
      end

      # Runs the command, sends its rows and the end to the peers, and waits until all peers have
      # disconnected. The rows wait until a first peer connects.
      # @param stream [Stream] of {Shell.rows} or {Shell.pipe}
      # @param timeout [Integer, Float, nil] seconds for the whole call
      # @param count [Integer, nil] most rows to send, 1 or more; then the command is stopped
      # @return [Status]
      # @raise [TimeoutError] when time is up
      # @raise [UnsupportedError] over inproc, where libzmq reports no connections
      # @raise [SystemCallError, RowTooLongError] as {Stream#each}
      def run(stream, timeout: nil, count: nil)
        unless stream.is_a?(Stream)
          raise Errors.bad_type(:push, "the stream", "what Shell.rows gives", stream)
        end
        Plan.check_count(:push, count)
        Push.check_transport(:push, @socket, "Stream#into")
        Timeout.check(timeout)
        @until = timeout && Timeout.now + timeout
        @stream = stream
        status = send_rows(count)
        send_end(status) unless @departed
        status
      ensure
        @socket.close
      end

      private

      def send_rows(count)
        delivery = nil
        started = lambda do |job|
          raise ClosedError, "push: all peers have left" if @departed
          delivery = Delivery.new(job, @socket)
        end
        @stream.batches(started: started, count: count) { |rows| delivery.send(rows, remaining) }
      rescue ClosedError
        raise unless @departed
        @stream.status
      end

      def remaining = Timeout.until(@until)

      def record_change(change)
        departed = @lock.synchronize do
          @peers += change
          @departed = true if @peers.zero?
          @ends_due = @peers if @ending
          @changed.broadcast
          @departed
        end
        return unless departed
        @socket.close
        @stream&.close
      end

      # libzmq chooses the peer of a message: one peer may get the end message twice and another not
      # at all, and a message to a peer that disconnects is lost. So the Push repeats it for all
      # peers when a peer connects or departs, and after each pause.
      def send_end(status)
        @until = [@until, Timeout.now + END_TIMEOUT].max if @until
        id = Process.pid.to_s(36) + object_id.to_s(36)
        message = [END_OF_ROWS, JSON.generate(id: id, **facts(status))]
        @pause = AGAIN.first
        @lock.synchronize do
          @ending = true
          schedule_end
        end
        while end_due?
          # `events` lets libzmq add new peers at once, `send` only every few milliseconds.
          @socket.events
          @socket.send(message, timeout: remaining)
        end
      rescue ClosedError
        raise unless @departed
      end

      def facts(status)
        {
          exitstatus: Push.exitstatus(status), signal: status.signal, timed_out: status.timed_out,
          rows: status.rows
        }
      end

      # Waits until a peer needs the end message. Returns false when all peers have departed.
      def end_due?
        @lock.synchronize do
          until @departed || @ends_due.positive?
            raise time_up if remaining&.zero?
            @changed.wait(@lock, Timeout.until([@until, @again].compact.min))
            schedule_end if Timeout.now >= @again
          end
          @ends_due -= 1
          !@departed
        end
      end

      def time_up
        peers = @peers.zero? ? "no peer has come" : "#{@peers} peers still pull"
        TimeoutError.new("push: time is up, and #{peers}")
      end

      def schedule_end
        @ends_due = @peers
        @again = Timeout.now + @pause
        @pause = [@pause * 2, AGAIN.last].min
      end
    end
  end
end
