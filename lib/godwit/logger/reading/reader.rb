# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # Reads records: from the writers themselves, which connect to it, or from a {Broadcaster}.
    #
    #   reader = Godwit::Logger::Reader.new("tcp://*:7000")
    #   reader.each { |record| puts "#{record.label} #{record.prog}: #{record.text}" } # until close
    #   reader.lazy.select { |record| record.level >= 3 }.first(10)
    #
    #   Godwit::Logger::Reader.subscribe("tcp://loghost:7001", level: "error+") do |reader|
    #     reader.recv(timeout: 5)
    #   end
    #
    # **Writers**: each writer numbers its records, so a gap is a record that was lost or dropped:
    # {#lost}, {#writers}. This needs all records of a writer in one reader; two readers behind one
    # PUSH each count the other's records as lost. Records of a broadcaster are counted within each
    # subscribed topic (level, program, host), from the first record of each.
    #
    # **Foreign messages** are neither records nor lines of plain writers: {#foreign} counts them.
    #
    # **Fair**: writers take turns, so that a flood of one does not delay the others. The records of
    # one writer keep their order. A broadcaster sends the records of all writers through one
    # connection: a reader that falls behind holds up to `queue_bytes:` of them, in a queue for each
    # writer, and drops new records of the writers with the longest queues: {#dropped}.
    #
    # **Threads, fibers, signals**: any number may read; each record goes to one of them. Waits end
    # within 0.1 s on `Thread#kill`, `Thread#raise`, `Timeout`, signals, {#close} and
    # {Context#shutdown}; under a `Fiber.scheduler` other fibers run meanwhile. **Fork**: in a child
    # reading, waiting and closing raise {ForkedError}. **Kills**: as {Socket} says. **Ractors**: a
    # reader belongs to the Ractor that made it.
    class Reader
      extend Keywords
      include Enumerable

      QUEUE_BYTES = 32 << 20 # default of `queue_bytes:`
      HWM = 1_000 # default of `recv_hwm:`, in messages of up to 64 KiB of records
      SUBSCRIBED_HWM = 10_000 # default of `recv_hwm:` of {subscribe}, in messages of one record
      private_constant :QUEUE_BYTES, :HWM, :SUBSCRIBED_HWM

      class << self
        # Makes a reader that binds. With a block: yields it, closes it, returns the block's value.
        # @param endpoints [Array<String>] see {#initialize}
        # @param state [String, Pathname, nil] see {#initialize}
        # @param options [Hash] see {#initialize}
        # @return [Reader] or the block's value
        def new(*endpoints, state: nil, **options, &block)
          AutoClose.with(super(*endpoints, state: state, **options, &nil), &block)
        end

        # Makes a reader that connects to broadcasters. They filter by level and program, so that
        # nothing else crosses the network; the reader filters by host and tag. A block: as {new}.
        # @param endpoints [Array<String>] one or several, of the broadcasters' outputs
        # @param level [String, Symbol, Integer, Array, nil] "error+" (and above), "warn",
        #   "debug,error+", :info; nil: all
        # @param prog [String, Array<String>, nil] these programs; nil: all
        # @param host [String, Array<String>, nil] these hosts; nil: all
        # @param tag [String, Array<String>, nil] records with one of these tags; nil: all
        # @param queue_bytes [Integer] bytes, 1 or more, that may wait in this reader when records
        #   come faster than they are read
        # @param options [Hash] socket options, as {Socket#initialize}
        # @return [Reader] or the block's value
        # @raise [ArgumentError] for an unknown level
        # @raise [ArgumentValueError] for a `queue_bytes:` that is not allowed
        # @raise [Error] as {Socket.connect}
        def subscribe(*endpoints, level: nil, prog: nil, host: nil, tag: nil,
          queue_bytes: QUEUE_BYTES, **options, &block)
          Errors.check_bytes(:subscribe, "queue_bytes:", queue_bytes)
          filter = Filter.new(level: level, prog: prog, host: host, tag: tag)
          socket = SUB.connect(*endpoints,
            subscribe: filter.subscriptions, recv_hwm: SUBSCRIBED_HWM, **options)
          AutoClose.with(allocate.start(socket, filter, queue_bytes: queue_bytes), &block)
        end
      end

      # @param endpoints [Array<String>] one or several to bind, to which writers connect
      # @param state [String, Pathname, nil] a file with the writers' statistics for the next
      #   reader; written once a second and at {#close}. With a file, counting begins at seq 1 for a
      #   writer that is not in it; without one, at each writer's first record
      # @param options [Hash] socket options, as {Socket#initialize}; `recv_hwm:` is 1,000 unless
      #   given, in messages of up to 64 KiB of records each
      # @raise [AddressInUseError] when the endpoint is in use
      # @raise [ArgumentValueError] when the state file is no state file
      # @raise [SystemCallError] when the state file cannot be read or written
      # @raise [Error] as {Socket.bind}
      def initialize(*endpoints, state: nil, **options)
        state &&= State.new(state)
        known = state&.load
        start(PULL.bind(*endpoints, recv_hwm: HWM, **options), nil, state: state, known: known)
      end

      # @private
      # @return [self]
      def start(socket, filter, state: nil, known: nil, queue_bytes: nil)
        @socket = socket
        @fair_queues = FairQueues.new(queue_bytes) if queue_bytes
        @writers = Writers.new(topics: filter && filter.subscriptions != [""], known: known)
        filter = nil if filter&.everything?
        @arrivals = Arrivals.new(socket, @writers, filter: filter, queues: @fair_queues,
          state: state)
        self
      end

      # Yields each record, until the reader is closed.
      # @yieldparam record [Record]
      # @return [self] or, without a block, an Enumerator
      # @raise [Error] as {#recv}, but for ClosedError and ContextTerminatedError
      def each
        return to_enum(:each) unless block_given?
        while (record = next_until_closed)
          yield record
        end
        self
      end

      # The next record; waits for one.
      # @param timeout [Integer, Float, nil] seconds; nil: for ever
      # @param exception [Boolean] false: nil instead of a TimeoutError
      # @return [Record] or nil when time is up and `exception: false`
      # @raise [TimeoutError] when time is up
      # @raise [ClosedError, ContextTerminatedError, ForkedError]
      def recv(timeout: nil, exception: true)
        Timeout.check(timeout)
        record = next_record(timeout && Timeout.now + timeout)
        return record if record || !exception
        raise Errors.build(TimeoutError, :recv, @socket.last_endpoint,
          ErrorHints.nothing_came(@socket, "no record came"))
      end

      # @return [Array<Reader::WriterStatistics>] one for each writer, a copy
      def writers = @arrivals.synchronize { @writers.to_a }

      # @return [Integer] records and lines received, each once, including those that `host:` and
      #   `tag:` of {subscribe} filter out
      def received = @arrivals.synchronize { @writers.received }
      # @return [Integer] records that are missing although a later record of the writer arrived
      def lost = @arrivals.synchronize { @writers.lost }
      # @return [Integer] records that came again, or after a later one
      def late = @arrivals.synchronize { @writers.late }
      # @return [Integer] messages dropped because of `queue_bytes:`; 0 for a reader that binds.
      #   Records among them also count as {#lost}, once a later record of their writer is read
      def dropped = @arrivals.synchronize { @fair_queues ? @fair_queues.dropped : 0 }
      # @return [Integer] lines of plain writers
      def plain = @writers.plain
      # @return [Integer] messages that are neither records nor lines
      def foreign = @writers.foreign
      # @return [Integer, nil] port of the tcp endpoint last bound
      def port = @socket.port
      # @return [String, nil] the endpoint last bound or connected, wildcards replaced
      def last_endpoint = @socket.last_endpoint
      # @return [Array<String>] the endpoints bound or connected, wildcards replaced
      def endpoints = @socket.endpoints

      # Sets the block that gets each foreign message, in the reading thread; nil removes the block.
      # @yieldparam frames [Array<String>, String] as Socket#recv returns them
      # @return [self]
      def on_foreign(&block)
        @on_foreign = block
        self
      end

      # Waits until a broadcaster or a writer is connected.
      # @param timeout [Integer, Float, nil] seconds; nil: for ever
      # @return [self]
      # @raise [Error] as Socket#wait_connected, which raises an error after the first record
      def wait_connected(timeout: nil)
        @socket.wait_connected(timeout: timeout)
        self
      end

      # Closes the reader and writes the state file. Waiting calls raise ClosedError. Messages that
      # were not read are lost: the next reader with that state file counts them. A second call does
      # nothing.
      # @return [nil]
      # @raise [ForkedError]
      def close
        @arrivals.close unless closed?
        nil
      end

      # @return [Boolean]
      # @raise [ForkedError]
      def closed? = @socket.closed?
      # @return [String]
      def inspect = "#<#{self.class} #{endpoints.join(", ")}#{" (closed)" if !forked? && closed?}>"
      alias_method :to_s, :inspect

      # @private
      def initialize_copy(_)
        raise Errors.no_copy("reader", "share this one, any thread may use it")
      end

      # @private
      def forked? = @socket.forked?

      private

      def _waiters = @arrivals.waiting

      # @return [Record, nil] nil when time is up
      def next_record(finish)
        while (found = @arrivals.next(finish))
          return found if found.is_a?(Record)
          @on_foreign&.call(found)
        end
      end

      # @return [Record, nil] nil after close
      def next_until_closed
        next_record(nil)
      rescue ClosedError, ContextTerminatedError
        nil
      end
    end
  end
end

# The files of the classes within Reader.
%w[writer_statistics writers state fair_queues arrivals].each { |name| require_relative name }
