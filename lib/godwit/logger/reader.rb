# frozen_string_literal: true

require_relative "../logger"
require_relative "record"
require_relative "filter"
require_relative "packing"

module Godwit
  class Logger < ::Logger
    # Reads records: from the writers themselves, which connect to it, or from a {Broadcaster}.
    #
    #   reader = Godwit::Logger::Reader.new("tcp://*:7000")
    #   reader.each { |record| puts "#{record.label} #{record.prog}: #{record.text}" } # until it is
    #   closed reader.lazy.select { |record| record.level >= 3 }.first(10)
    #
    #   Godwit::Logger::Reader.subscribe("tcp://loghost:7001", level: "error+", prog: "billing") do
    #   |reader|
    #     reader.recv(timeout: 5)
    #   end
    #
    # **Writers**: each writer counts its records, so a gap is a record that was lost or dropped:
    # {#lost}, {#writers}. For that all of a writer's records must come here; two readers behind
    # one PUSH each see the other's as lost. From a broadcaster the gaps are counted within each
    # topic (level, program, host) that it subscribed to, from the first record of each.
    #
    # **Foreign messages**, which are neither records nor lines of plain writers, are counted and
    # left out: {#foreign}.
    #
    # **Fair**: writers take turns, so that one which floods does not hold up the others. Each
    # writer's records come in their order. From a broadcaster all writers' records come through one
    # connection: when the reader falls behind, it holds up to `queue_bytes:` of them in a queue for
    # each writer, and drops those of the writers with most: {#dropped}.
    #
    # **Threads, fibers, signals**: any number may read; each record goes to one of them. Waits end
    # within 0.1 s on `Thread#kill`, `Thread#raise`, `Timeout`, signals, {#close} and
    # {Context#shutdown}; under a `Fiber.scheduler` other fibers run meanwhile. **Fork**: in a child
    # what reads, waits or closes raises {ForkedError}. **Kills**: as {Socket} says. **Ractors**: it
    # belongs to the one that made it.
    class Reader
      extend Keywords
      include Enumerable

      # Messages per crossing into libzmq, at first and at most. There are fewer while their records
      # take time, so that no writer's records wait behind those of another.
      FIRST = 4
      BATCH = 256
      # Seconds that a batch may take.
      SLICE = 0.02
      # Bytes in the queues of a reader that is subscribed, unless `queue_bytes:` says otherwise.
      QUEUE_BYTES = 32 << 20
      # Messages of each writer that libzmq holds, unless `recv_hwm:` says otherwise. A message may
      # have 64 KiB of records.
      HWM = 1_000
      # The same of each broadcaster, whose messages have one record.
      SUBSCRIBED_HWM = 10_000
      NEVER = {Object => :never}.freeze
      private_constant :FIRST, :BATCH, :SLICE, :QUEUE_BYTES, :HWM, :SUBSCRIBED_HWM, :NEVER

      class << self
        # Makes one that binds. With a block: yields it, closes it afterwards, and gives the block's
        # value.
        # @param endpoints [Array<String>] see {#initialize}
        # @param state [String, nil] see {#initialize}
        # @param options [Hash] see {#initialize}
        # @return [Reader] or the block's value
        # @see #initialize
        def new(*endpoints, state: nil, **options, &block)
          within(super(*endpoints, state: state, **options, &nil), &block)
        end

        # Makes one that connects to broadcasters. Level and program are chosen there, so that
        # nothing else crosses the network; host and tag here. With a block: as {new}.
        # @param endpoints [Array<String>] one or several, of the broadcasters' outputs
        # @param level [String, Symbol, Integer, Array, nil] "error+" (and above), "warn",
        #   "debug,error+", :info; nil: all
        # @param prog [String, Array<String>, nil] these programs; nil: all
        # @param host [String, Array<String>, nil] these hosts; nil: all
        # @param tag [String, Array<String>, nil] records with one of these tags; nil: all
        # @param queue_bytes [Integer] bytes, 1 or more, that may wait in this reader when records
        #   come faster than it is read
        # @param options [Hash] socket options, as {Socket#initialize}
        # @return [Reader] or the block's value
        # @raise [ArgumentError] for a level that there is not
        # @raise [ArgumentValueError] for a `queue_bytes:` that is not allowed
        # @raise [Error] as {Socket.connect}
        def subscribe(
          *endpoints,
          level: nil,
          prog: nil,
          host: nil,
          tag: nil,
          queue_bytes: QUEUE_BYTES,
          **options,
          &block
        )
          Errors.check_bytes(:subscribe, "queue_bytes:", queue_bytes)
          filter = Filter.new(level: level, prog: prog, host: host, tag: tag)
          socket =
            SUB.connect(
              *endpoints, subscribe: filter.subscriptions, recv_hwm: SUBSCRIBED_HWM, **options
            )
          within(
            allocate.tap do |reader|
              reader.__send__(:start, socket, filter, queue_bytes: queue_bytes)
            end,
            &block
          )
        end

        private

        def within(reader)
          return reader unless block_given?
          begin
            yield reader
          ensure
            # A child that ends within the block leaves it to its parent.
            reader.close unless reader.__send__(:forked?)
          end
        end
      end

      # @param endpoints [Array<String>] one or several to bind; writers connect there
      # @param state [String, nil] a file that keeps the writers from one reader to the next;
      #   written once a second and at {#close}. Writers that it does not know begin with 1; without
      #   it, with the first record that comes
      # @param options [Hash] socket options, as {Socket#initialize}; `recv_hwm:` is 1,000 unless
      #   given, in messages of up to 64 KiB of records each
      # @raise [AddressInUseError] when somebody listens there
      # @raise [ArgumentValueError] when the state file is something else
      # @raise [SystemCallError] when it cannot be read, or written
      # @raise [Error] as {Socket.bind}
      def initialize(*endpoints, state: nil, **options)
        state &&= State.new(state)
        known = state&.load
        start(PULL.bind(*endpoints, recv_hwm: HWM, **options), nil, state: state, known: known)
      end

      # Yields each record, until it is closed.
      # @yieldparam record [Record]
      # @return [self] or, without a block, an Enumerator
      # @raise [Error] as {#recv}, but for ClosedError and ContextTerminatedError
      def each
        return to_enum(:each) unless block_given?
        while (record = next_record)
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
        Timeout.milliseconds(timeout) # refuses what is no duration
        finish = timeout && Timeout.now + timeout
        take(finish) ||
          (
            if exception
              raise Errors.build(TimeoutError, :recv, @socket.last_endpoint, "no record came")
            end
          )
      end

      # @return [Array<Reader::WriterStatistics>] one for each writer; as they are now
      def writers = @lock.synchronize { @writers.to_a }

      # @deprecated Use {#writers}.
      # @return [Array<Reader::WriterStatistics>]
      def accounts
        Deprecation.warn("Reader#accounts", "Reader#writers")
        writers
      end

      # @private
      def self.const_missing(name)
        return super unless name == :Account
        Deprecation.warn("Reader::Account", "Reader::WriterStatistics")
        WriterStatistics
      end

      # @return [Integer] records and lines that came, each once; also those that {subscribe}'s
      #   `host:` and `tag:` leave out
      def received = @lock.synchronize { @writers.received }

      # @return [Integer] records that did not come, though later ones of their writers did
      def lost = @lock.synchronize { @writers.lost }

      # @return [Integer] records that came again, or after a later one
      def late = @lock.synchronize { @writers.late }

      # @return [Integer] messages that found no room within `queue_bytes:`; 0 for a reader that
      #   binds. Records among them are {#lost} too, as soon as a later one of their writer is read
      def dropped = @lock.synchronize { @turns ? @turns.dropped : 0 }

      # @return [Integer] lines of plain writers
      def plain = @writers.plain

      # @return [Integer] messages that are neither records nor lines
      def foreign = @writers.foreign

      # @return [Integer, nil] of the tcp endpoint last bound
      def port = @socket.port

      # @return [String, nil] the endpoint last bound or connected, wildcards replaced
      def last_endpoint = @socket.last_endpoint

      # @return [Array<String>] where it is bound or connected, wildcards replaced
      def endpoints = @socket.endpoints

      # Has a block see each foreign message; without one, none any more.
      # @yieldparam frames [Array<String>, String] as Socket#recv gives them; called by the thread
      #   that reads
      # @return [self]
      def on_foreign(&block)
        @on_foreign = block
        self
      end

      # Waits until the broadcaster is there, or one writer.
      # @param timeout [Integer, Float, nil] seconds; nil: for ever
      # @return [self]
      # @raise [Error] as Socket#wait_connected: before the first record
      def wait_connected(timeout: nil)
        @socket.wait_connected(timeout: timeout)
        self
      end

      # Closes it and writes the state file. Those who wait are told. What has come and was not read
      # is not {#received}: it is lost, and the next reader with that state file says so. A second
      # call does nothing.
      # @return [nil]
      # @raise [ForkedError]
      def close
        return if closed?
        @socket.close
        @lock.synchronize do
          @pending = []
          @arrived.broadcast
          save
        end
        nil
      end

      # @return [Boolean]
      # @raise [ForkedError]
      def closed? = @socket.closed?

      # @return [String]
      def inspect = "#<#{self.class} #{endpoints.join(", ")}#{" (closed)" if !forked? && closed?}>"
      alias_method :to_s, :inspect

      # dup and clone make no sense.
      # @private
      def initialize_copy(_original)
        raise Errors.build(
          UnsupportedError, :dup, nil,
          "a reader cannot be copied: share this one, any thread may use it"
        )
      end

      private

      def start(socket, filter, state: nil, known: nil, queue_bytes: nil)
        @socket = socket
        @turns = Turns.new(queue_bytes) if queue_bytes
        @writers = Writers.new(topics: filter && filter.subscriptions != [""], known: known)
        @filter = filter unless !filter || filter.everything?
        @state = state
        @lock = Mutex.new
        @arrived = ConditionVariable.new
        @pending = []
        @waiting = 0
        @led = false
        @size = FIRST
        @fetched = Timeout.now
      end

      # @return [Integer] callers that wait for a record
      def _waiters = @waiting

      def forked? = @socket.__send__(:_forked?)
    end
  end
end

# Below, since they open the class that is to be loaded by now.
require_relative "reader/writers"
require_relative "reader/state"
require_relative "reader/turns"
require_relative "reader/fetching"
