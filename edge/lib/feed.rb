# frozen_string_literal: true

module Edge
  # The messages of publishers for any number of streams, over one SUB of this worker. All readers
  # share the messages that one of them has not read yet.
  #
  # **Fibers**: any number may read at once.
  class Feed
    # Messages that the socket gives in a turn of the loop: then readers and other requests run.
    TURN = 100

    # A call of {Feed#each}.
    # @private
    class Reader
      attr_reader :stream
      attr_accessor :at, :ticket, :error

      # @param at [Integer] how many messages the feed had before the next one of this reader
      # @param stream [Integer] of its request
      def initialize(at, stream)
        @at = at
        @stream = stream
      end
    end

    # @param endpoints [Array<String>] of PUB or XPUB peers, one or more
    # @param subscribe [Array<String>] beginnings of messages; [""]: all messages
    # @param queue [Integer] messages, 2 or more: a reader that is so far behind is dropped
    # @param options [Hash] of Godwit::SUB, such as `curve:` and `recv_hwm:`
    # @raise [Godwit::Error, ArgumentError]
    def initialize(*endpoints, subscribe: [""], queue: 1_000, **options)
      unless queue.is_a?(Integer) && queue > 1
        raise ArgumentError, "queue: #{queue.inspect} is not a number of messages, 2 or more"
      end
      @queue = queue
      @turn = [TURN, queue / 2].min
      @socket = Godwit::SUB.connect(*endpoints, subscribe: subscribe, linger: 0, **options)
      @messages = [] # the last ones, until all readers have read them
      @count = 0     # of all messages
      @readers = {}  # by object_id
      @dropped = 0
      @watch = OwnedWatch.new(@socket, self)
      @watch.kick
    end

    # Waits for messages, and yields each that comes from now on. It does not return.
    # @yieldparam message [String, Array<String>] an Array if it has several frames
    # @raise [BusyError] this reader is `queue:` messages behind: the stream ends, and the log says
    #   how many readers of this feed have been dropped. It also ends a write that waits
    # @raise [Cancelled] the client has left, or the worker ends
    # @raise [ArgumentError] there is no block
    def each
      raise ArgumentError, "Edge::Feed#each takes a block" unless block_given?
      reader = Reader.new(@count, Edge._stream_number)
      @readers[reader.object_id] = reader
      begin
        while true # standard:disable Style/InfiniteLoop -- loop would rescue StopIteration
          yield take(reader)
        end
      ensure
        @readers.delete(reader.object_id)
      end
    end

    # @return [String]
    def inspect = "#<#{self.class} #{@socket.endpoints.join(", ")}>"
    alias_method :to_s, :inspect

    # @private
    def _look
      left = @turn
      while left > 0 && (message = @socket._try_recv)
        left -= 1
        next if @readers.empty?
        @messages << message
        @count += 1
      end
      @watch.kick_later if left == 0
      serve unless @messages.empty?
    end

    private

    def take(reader)
      while reader.at == @count
        reader.ticket = Edge._ticket(-1)
        Edge.wait
      end
      raise reader.error if reader.error
      message = @messages[reader.at - @count]
      reader.at += 1
      message
    end

    # Wakes the readers, and forgets the messages that all have read.
    def serve
      first = @count
      @readers.values.each do |reader|
        next drop(reader) if @count - reader.at >= @queue
        first = reader.at if reader.at < first
        Edge._wake(reader.ticket, nil) if reader.ticket
        reader.ticket = nil
      end
      @messages = @messages.last(@count - first)
    end

    def drop(reader)
      @readers.delete(reader.object_id)
      @dropped += 1
      reader.error = BusyError.new("a reader of #{@socket.endpoints.join(", ")} is #{@queue} " \
        "messages behind and is dropped, #{@dropped} so far")
      Edge._stream_stop(reader.stream, reader.error)
    end
  end
end
