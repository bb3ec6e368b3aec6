# frozen_string_literal: true

require "json"

module Godwit
  module Shell
    # Receives the rows that a {Push} sends, up to the command's end, for `godwit sh pull`.
    #
    #     socket = Godwit::PULL.new
    #     pull = Godwit::Shell::Pull.new(socket) # before connect or bind: it counts the peers
    #     socket.connect("tcp://host:7100")
    #     pull.each { |row| puts row }
    #     pull.exitstatus                                 # => 0; the command's
    #
    # A Pull may be another command's `input:`. Several Pulls share the rows of one Push. A bound
    # Pull receives the rows of several Pushes, and ends when all Pushes have sent their end or have
    # disconnected; {#complete?} is false if a Push disconnected without its end.
    #
    # Only one thread may use a Pull. It drops and counts ({#foreign}) messages of several frames
    # that no Push sends.
    class Pull
      include Enumerable

      # @return [Integer] messages that were no rows
      attr_reader :foreign
      # @return [Array<Hash>] the facts in the end message of each Push: :exitstatus (128 plus the
      #   number of the signal that ended the command; nil: time-out), :signal, :timed_out, :rows
      attr_reader :ends

      # @param socket [Socket] a PULL that is neither bound nor connected yet
      # @raise [ArgumentTypeError] when `socket` is no PULL
      # @raise [StateError] when `socket` has endpoints
      def initialize(socket)
        Push.check_socket(:pull, :PULL, socket)
        @socket = socket
        @foreign = @came = @departed = 0
        @ends = []
        @ids = {}
        @wake, @waker = IO.pipe
        Peers.new(socket) { |change| record_change(change) }
      end

      # Yields the rows as they come, until the end message; then closes the socket, which tells the
      # Push that this Pull has received the end message.
      # @param timeout [Integer, Float, nil] seconds until the end of the rows
      # @yieldparam row [String, Array(Symbol, String)] binary; of a Push with `err: :rows` an Array
      #   of `:out` or `:err` and a String
      # @return [self] or, without a block, an Enumerator
      # @raise [TimeoutError] when time is up
      # @raise [Error] of the socket
      def each(timeout: nil, &block)
        return to_enum(:each, timeout: timeout) unless block
        each_batch(timeout: timeout) { |rows| rows.each(&block) }
      end

      # Yields as {#each} does, but all rows that have arrived, as one Array.
      # @param most [Integer] rows, 1 or more
      # @param timeout [Integer, Float, nil] seconds until the end of the rows
      # @yieldparam rows [Array<String, Array(Symbol, String)>] one or more
      # @return [self] or, without a block, an Enumerator
      # @raise [TimeoutError] when time is up
      # @raise [UnsupportedError] over inproc, where libzmq reports no connections
      # @raise [Error] of the socket
      def each_batch(most = 256, timeout: nil)
        return to_enum(:each_batch, most, timeout: timeout) unless block_given?
        Push.check_transport(:pull, @socket, "Socket#each")
        Timeout.check(timeout)
        @until = timeout && Timeout.now + timeout
        poller = Poller.new(@socket, @wake)
        until @over
          rows = receive(most, poller)
          yield rows unless rows.empty?
        end
        self
      ensure
        poller&.close
        close if @over || block_given?
      end

      # @return [Boolean] whether every Push reported its end
      def complete? = !@ends.empty? && !@broken

      # @return [Integer, nil] the command's exit status, or 128 plus the number of the signal that
      #   ended it; of several commands the first status that is not 0; nil when unknown
      def exitstatus
        all = @ends.map { |facts| facts[:exitstatus] }
        all.find { |status| status != 0 } || (all.first if all.none?(nil))
      end

      # @private
      # @return [String, Array(Symbol, String), nil] the row in a message; nil for other messages
      def self.row(message)
        return message if message.is_a?(String)
        kind, row, *rest = message
        [kind.to_sym, row] if rest.empty? && %w[out err].include?(kind)
      end

      # Closes the socket: the Push notices the disconnection.
      # @return [nil]
      def close
        @socket.close
        @waker.close
        @wake.close
        nil
      end

      private

      def record_change(change)
        change.positive? ? @came += 1 : @departed += 1
        @waker.write_nonblock(".") if change.negative?
      rescue IO::WaitWritable, IOError, Errno::EPIPE
        nil # the pipe is full or closed
      end

      # Receives the rows that have arrived, or waits. libzmq delivers all rows of a departed peer
      # before it reports that the peer has departed.
      def receive(most, poller)
        departed = @departed
        connected = @came - departed
        messages = @socket.recv_many(most, timeout: 0, exception: false)
        return rows_of(messages) if messages
        if @ends.size >= connected && (departed.positive? || !@ends.empty?)
          @broken = departed.positive?
          @over = true
          return []
        end
        wait(poller)
        []
      end

      def wait(poller)
        remaining = Timeout.until(@until)
        raise TimeoutError, "pull: time is up" if remaining&.zero?
        poller.wait(remaining).each do |event|
          @wake.read_nonblock(64, exception: false) if event.object == @wake
        end
      end

      def rows_of(messages)
        messages.filter_map { |message| Pull.row(message) || record_end(*message) }
      end

      def record_end(kind, text, *rest)
        facts = JSON.parse(text, symbolize_names: true) if kind == Push::END_OF_ROWS && rest.empty?
        raise JSON::ParserError unless facts.is_a?(Hash) && facts[:id].is_a?(String)
        @ends << facts.except(:id) unless @ids[facts[:id]]
        @ids[facts[:id]] = true
        nil
      rescue JSON::ParserError
        @foreign += 1
        nil
      end
    end
  end
end
