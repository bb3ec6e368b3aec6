# frozen_string_literal: true

require_relative "../../logger"
require_relative "../wire/record"
require_relative "../reading/filter"

module Godwit
  class Logger < ::Logger
    # Passes records of many writers to many readers ({Reader.subscribe}), like `godwit log serve`.
    #
    #   broadcaster = Godwit::Logger::Broadcaster.new("tcp://*:7000", "tcp://*:7001",
    #     control: "tcp://*:7002", sink: sink)
    #   broadcaster.run # until another thread calls stop, or a signal comes
    #
    # Messages go from a PULL to a PUB in C, without Ruby's lock and without Ruby objects (on the
    # FFI backend in a Ruby loop). A reader gets only what it subscribed to. A reader that cannot
    # keep up loses records, which its own statistics count, and delays no other reader.
    #
    # **Memory**: it keeps the last records ({#last}) and statistics for each writer
    # ({#statistics}). At `control:` it answers a {Control} that asks for them.
    #
    # **A sink** gets all records in order, on a thread of its own. A slow sink delays the
    # broadcaster and so, through the high-water marks, the writers. $stderr shows its errors, at
    # most once in a while.
    #
    # **Threads, signals**: any may call any method; {#stop} also works in a `trap` block. **Fork**:
    # in a child every method raises {ForkedError}; the parent's goes on. **Garbage collector**: it
    # runs until {#close} or the process's end. **Ractors**: it belongs to the Ractor that made it.
    class Broadcaster
      extend Keywords

      HWM = 10_000 # default of `send_hwm:`, in messages for each reader
      MAX_FRAME = 256 << 10 # bytes of one frame; {Logger} cuts a text longer than a quarter
      HELD_BYTES = 64 << 20 # default of `in_bytes:`, `out_bytes:` and `answer_bytes:`
      LEAST_HWM = 64 # messages of a writer; a smaller mark makes the writer slow
      MAX_WRITERS = 10_000 # with statistics; beyond, the longest idle one is forgotten
      MAX_LAST = 1_000_000 # records that may be remembered
      MAX_BYTES = 1 << 30 # bytes of them
      LINGER = 0.3 # seconds that a blocked reader may delay the process's end
      DRAIN = 0.3 # seconds for {#close} to pass on received messages
      QUIET = 0.01 # seconds between two looks at the counters
      private_constant :HWM, :MAX_FRAME, :HELD_BYTES, :LEAST_HWM, :MAX_WRITERS, :MAX_LAST,
        :MAX_BYTES, :LINGER, :DRAIN, :QUIET

      class << self
        # Makes a broadcaster that does not run yet. With a block: yields it, closes it afterwards,
        # and returns the block's value.
        # @param sides [Array] input and output, see {#initialize}
        # @param options [Hash] see {#initialize}
        # @return [Broadcaster] or the block's value
        # @see #initialize
        def new(*sides, **options, &block) = AutoClose.with(super(*sides, **options, &nil), &block)
      end

      # Binds everything; {#run} or {#start} begin to receive.
      # @param input [String, Array<String>] endpoints to bind, where writers connect
      # @param output [String, Array<String>, nil] endpoints to bind, where readers connect
      # @param control [String, Array<String>, nil] endpoints to bind, where {Control} asks
      # @param last [Integer] how many records it remembers, 0 to 1,000,000
      # @param last_bytes [Integer] and how many bytes of them, 0 to 1 GiB; a record of more than a
      #   quarter is not remembered
      # @param sink [#write, nil] such as a {Sink}: gets Arrays of {Record}; closed at the end
      # @param on_foreign [#call, nil] is called with each message that is neither record nor line
      #   (Array<String>, or a String of one frame), in the sink's thread; as costly as a sink
      # @param context [Context, nil] of its sockets; nil: the process's own
      # @param in_bytes [Integer] bytes, about, of each writer's messages that may wait here while
      #   the sink is busy; then the writer waits. It decides `recv_hwm:`
      # @param out_bytes [Integer] bytes of frames over 4 KiB that may wait for all readers
      #   together; a message beyond that goes to no reader, and counts as `skipped`. Of smaller
      #   frames `send_hwm:` (10,000) may wait for each reader, whose statistics count what it
      #   misses. Not on the FFI backend
      # @param answer_bytes [Integer] bytes, about, of answers that may wait for a {Control} that
      #   does not read; an answer beyond that counts as `unanswered`
      # @param options [Hash] options of all its sockets, as {Socket#initialize}: `curve:`,
      #   `recv_hwm:`…; `linger:` is 0.3 seconds unless given, and `max_message_size:` 256 KiB for a
      #   frame: libzmq disconnects a writer that sends a longer one
      # @raise [AddressInUseError] when an address is in use: the error's `endpoint` names it
      # @raise [ArgumentValueError, ArgumentTypeError] when an argument is not allowed
      # @raise [Error] as {Socket.bind}; nothing stays open then
      def initialize(input, output = nil, control: nil, last: 1000, last_bytes: 4 << 20,
        in_bytes: HELD_BYTES, out_bytes: HELD_BYTES, answer_bytes: HELD_BYTES, sink: nil,
        on_foreign: nil, context: nil, **options)
        check(last, last_bytes, sink, on_foreign)
        {in_bytes: in_bytes, out_bytes: out_bytes, answer_bytes: answer_bytes}.each do |name, bytes|
          Errors.check_bytes(:broadcaster, "#{name}:", bytes)
        end
        frame = options[:max_message_size] || MAX_FRAME
        @options = {context: context, recv_hwm: [in_bytes / frame, LEAST_HWM].max, send_hwm: HWM,
                    linger: LINGER, max_message_size: frame, **options}
        @owned = []
        @begun = false
        @began = Timeout.now
        @input = bind(PULL, input)
        @output = bind(PUB, output)
        if control
          settings = ControlServer.options(answer_bytes, last_bytes)
          @control = ControlServer.new(bind(ROUTER, control, **settings), self)
        end
        @sink_thread = SinkThread.new(sink, context, on_foreign) if sink || on_foreign
        @passed = Native::Statistics.new.open(last, last_bytes, MAX_WRITERS)
        @proxy = Proxy.new(@input, @output, capture: @sink_thread&.socket)
        # A backend's primitives, private by its contract.
        @proxy.observe(@passed)
        @proxy.bound(out_bytes)
      rescue
        release if @owned
        raise
      end

      # Moves records until {#stop}.
      # @return [self]
      # @raise [ClosedError] after {#close}
      # @raise [ContextTerminatedError] when its context is shut down meanwhile
      # @raise [StateError] when it runs already
      # @raise [ForkedError]
      def run
        begin_helpers
        @proxy.run
        self
      end

      # As {#run}, on a thread of its own.
      # @return [self]
      # @raise [Error] as {#run}
      def start
        begin_helpers
        @proxy.start
        self
      end

      # Stops at once, without waiting for the end (see {#wait}); {#run} and {#start} go on later.
      # @return [self]
      # @raise [ForkedError]
      def stop
        @proxy.stop
        self
      end

      # Waits until it has ended.
      # @param timeout [Integer, Float, nil] seconds
      # @return [self, nil] nil when time is up
      # @raise [Error] that ended it, unless it or its context was closed
      def wait(timeout = nil) = @proxy.wait(timeout) && self
      # @return [Boolean] whether it moves records, in this process
      def running? = @proxy.running?

      # Everything counted so far: `input`, `output`, `control` (endpoints), `uptime` (seconds),
      # `messages`, `bytes`, `records`, `plain` (lines), `foreign` (neither), `lost`, `late`,
      # `levels` (records and lines of each), `sent` (to the publisher, which may drop), `skipped`
      # (see `out_bytes:`), `unanswered` (see `answer_bytes:`), `kept` (for {#last}), `writers`
      # (their number), `forgotten` (writers beyond 10,000), `sink` (`written`, `failed`, `error`;
      # or nil), and `accounts` of the latest writers: `writer`, `prog`, `host`, `first`,
      # `last`, `received`, `lost`, `late`, `bytes`, `lag` and `longest_lag` (seconds between the
      # writer's clock and ours), `idle` (seconds), `levels`.
      # @param writers [Integer] how many accounts, 0 or more, at most
      # @param accounts [Integer, nil] the old name of `writers:`
      # @return [Hash{String => Object}] ready for JSON
      # @raise [ArgumentValueError] when that is not allowed
      # @raise [ForkedError]
      def statistics(writers: 1000, accounts: nil)
        if accounts
          Deprecation.warn("statistics(accounts:)", "statistics(writers:)")
          writers = accounts
        end
        check_count(:statistics, "writers:", writers)
        moved = @proxy.statistics
        {"version" => VERSION, "uptime" => (Timeout.now - @began).round(3), "input" => input,
         "output" => output, "control" => control, "running" => running?,
         **named(TOTALS, @passed.totals), "sent" => moved.backend.sent, "skipped" => moved.dropped,
         "unanswered" => @control&.dropped || 0, "sink" => @sink_thread&.to_h,
         "accounts" => @passed.writers([writers, MAX_WRITERS].min).map { |one| writer(one) }}
      end

      # The last records that passed, the oldest first. The filters apply before the count: ten
      # errors may be further back than ten records.
      # @param count [Integer] at most so many, 0 or more
      # @param level [String, Symbol, Integer, Array, nil] all four are as in {Reader.subscribe}
      # @param prog [String, Array<String>, nil]
      # @param host [String, Array<String>, nil]
      # @param tag [String, Array<String>, nil]
      # @return [Array<Record>]
      # @raise [ArgumentError] for an unknown level
      # @raise [ArgumentValueError] when the count is not allowed
      # @raise [ForkedError]
      def last(count = 100, level: nil, prog: nil, host: nil, tag: nil)
        check_count(:last, "the count", count)
        filter = Filter.new(level: level, prog: prog, host: host, tag: tag)
        most = [count, MAX_LAST].min
        return remembered(most) if filter.everything?
        remembered(MAX_LAST).select { |record| filter.fits?(record) }.last(most)
      end

      # Sets a block for connection events of writers and readers. It runs on a thread of its own.
      # @param kinds [Array<Symbol>] as Socket#on_event takes them
      # @yieldparam event [Monitor::Event]
      # @return [self]
      # @raise [Error] as Socket#on_event; BusyError while it runs
      def on_event(*kinds, &block)
        [@input, @output].each { |socket| socket.on_event(*kinds, &block) }
        self
      end

      # @return [Integer, nil] port of the input
      def port = @input.port
      # @return [Array<String>] where writers connect, wildcards replaced
      def input = @input.endpoints
      # @return [Array<String>] where readers connect, wildcards replaced
      def output = @output.endpoints
      # @return [Array<String>] where {Control} asks, wildcards replaced
      def control = @control&.endpoints || []

      # Passes on what libzmq has received (for a third of a second at most, as writers may go on),
      # stops, waits for the sink to write it (three seconds at most), and closes everything. A
      # second call does nothing.
      # @return [nil]
      # @raise [ForkedError]
      def close
        drain(Timeout.now + DRAIN) if @begun && !closed?
        @proxy.close
        @sink_thread&.close
        @control&.close
        release
      end

      # @return [Boolean]
      def closed? = @input.closed?

      # @return [String]
      def inspect
        "#<#{self.class} #{@input.inspect} #{@output.inspect}#{" (running)" if running?}>"
      end
      alias_method :to_s, :inspect

      # @private
      def initialize_copy(_) = raise(Errors.no_copy("broadcaster", "Broadcaster.new makes another"))
      # @private
      def forked? = @input.forked?
    end
  end
end

# These files open the class again.
require_relative "control_server"
require_relative "sink_thread"
require_relative "parts"
