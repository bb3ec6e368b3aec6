# frozen_string_literal: true

require_relative "../logger"
require_relative "record"
require_relative "filter"

module Godwit
  class Logger < ::Logger
    # Takes records of many writers and hands them to as many readers ({Reader.subscribe}); `godwit
    # log serve` is one.
    #
    #   broadcaster = Godwit::Logger::Broadcaster.new("tcp://*:7000", "tcp://*:7001", control:
    #   "tcp://*:7002", sink: sink) broadcaster.run # until another thread calls stop, or a signal
    #   comes
    #
    # Messages go from a PULL to a PUB in C, without Ruby's lock and with no Ruby object for any of
    # them. (On the FFI backend a Ruby loop does it.) What a reader did not subscribe to is not sent
    # to it. One that cannot keep up loses records, which its own accounts show, and holds up
    # nobody.
    #
    # **It remembers** the last records ({#last}) and an account for each writer ({#statistics}),
    # and answers for both at `control:`, where {Control} asks.
    #
    # **A sink** gets all records, in a thread of its own, with their order and shapes kept. One
    # that is slow holds up the broadcaster, and so, by high-water marks, the writers. What it
    # raises is told on $stderr, once in a while, and counted.
    #
    # **Threads, signals**: any may call any method; {#stop} also works in a `trap` block. **Fork**:
    # in a child every method raises {ForkedError}; the parent's goes on. **Garbage collector**: it
    # is closed by nobody but its user; the process's end ends it. **Ractors**: it belongs to the
    # one that made it.
    class Broadcaster
      extend Keywords

      # Messages that libzmq holds for each reader, unless `send_hwm:` says otherwise.
      HWM = 10_000
      # Bytes of one frame; {Logger} cuts what is longer than a quarter.
      MOST_FRAME = 256 << 10
      # Bytes that libzmq holds: of each writer's messages, of large frames for all readers, of
      # answers for one that asks.
      HELD_BYTES = 64 << 20
      # Messages that libzmq takes of each writer in any case: fewer would make it slow.
      LEAST_HWM = 64
      # Writers that have an account; the one that was idle for longest is forgotten.
      MOST_WRITERS = 10_000
      # Most records, and bytes, that may be remembered.
      MOST_LAST = 1_000_000
      MOST_BYTES = 1 << 30
      # Seconds that a reader which is stuck may hold up the process's end.
      LINGER = 0.3
      # Seconds for what has been received when it is closed.
      DRAIN = 0.3
      QUIET = 0.01
      private_constant :HWM, :MOST_FRAME, :HELD_BYTES, :LEAST_HWM, :MOST_WRITERS, :MOST_LAST,
        :MOST_BYTES, :LINGER, :DRAIN, :QUIET

      class << self
        # Makes one; nothing runs yet. With a block: yields it, closes it afterwards, and gives the
        # block's value.
        # @param sides [Array] input and output, see {#initialize}
        # @param options [Hash] see {#initialize}
        # @return [Broadcaster] or the block's value
        # @see #initialize
        def new(*sides, **options, &block)
          broadcaster = super(*sides, **options, &nil)
          return broadcaster unless block
          begin
            block.call(broadcaster)
          ensure
            # A child that ends within the block leaves it to its parent.
            broadcaster.close unless broadcaster.__send__(:forked?)
          end
        end
      end

      # Binds everything; nothing is taken before {#run} or {#start}.
      # @param input [String, Array<String>] endpoints to bind, where writers connect
      # @param output [String, Array<String>, nil] endpoints to bind, where readers connect; nil:
      #   there are none
      # @param control [String, Array<String>, nil] endpoints to bind, where {Control} asks; nil:
      #   nobody asks
      # @param last [Integer] how many records it remembers, 0 to 1,000,000
      # @param last_bytes [Integer] and how many bytes of them, 0 to 1 GiB; one of more than a
      #   quarter is not remembered
      # @param sink [#write, nil] such as a {Sink}: gets Arrays of {Record}; closed at the end
      # @param on_foreign [#call, nil] is called with each message that is neither record nor line
      #   (Array<String>, or a String of one frame), in the sink's thread, and costs what a sink
      #   costs
      # @param context [Context, nil] of its sockets; nil: the process's own
      # @param in_bytes [Integer] bytes of each writer's messages that may wait here while the sink
      #   is busy, about; then the writer waits. It decides `recv_hwm:`
      # @param out_bytes [Integer] bytes of frames over 4 KiB that may wait for readers, all
      #   together; a message beyond that goes to none of them, and counts as `skipped`. Of smaller
      #   ones `send_hwm:` (10,000) may wait for each reader; what it misses, its own account shows.
      #   Not on the FFI backend
      # @param answer_bytes [Integer] bytes of answers that may wait for one that asks and does not
      #   read, about; an answer beyond that counts as `unanswered`
      # @param options [Hash] options of all its sockets, as {Socket#initialize}: `curve:`,
      #   `recv_hwm:`…; `linger:` is 0.3 seconds unless given, and `max_message_size:` 256 KiB for a
      #   frame: libzmq ends the connection of a writer that sends a longer one
      # @raise [AddressInUseError] when an address is in use: the error's `endpoint` names it
      # @raise [ArgumentValueError, ArgumentTypeError] when an argument is not allowed
      # @raise [Error] as {Socket.bind}; nothing stays open then
      def initialize(
        input, output = nil, control: nil, last: 1000, last_bytes: 4 << 20, in_bytes: HELD_BYTES,
        out_bytes: HELD_BYTES, answer_bytes: HELD_BYTES, sink: nil, on_foreign: nil, context: nil,
        **options
      )
        check(last, last_bytes, sink, on_foreign)
        {in_bytes: in_bytes, out_bytes: out_bytes, answer_bytes: answer_bytes}.each do |name, bytes|
          Errors.check_bytes(:broadcaster, "#{name}:", bytes)
        end
        frame = options[:max_message_size] || MOST_FRAME
        @options = {
          context: context, recv_hwm: [in_bytes / frame, LEAST_HWM].max, send_hwm: HWM,
          linger: LINGER, max_message_size: frame, **options
        }
        @owned = []
        @begun = false
        begin
          @input = bind(PULL, input)
          @output = bind(PUB, output)
          if control
            @control =
              ControlServer.new(
                bind(ROUTER, control, **ControlServer.options(answer_bytes, last_bytes)), self
              )
          end
          @sink_thread = SinkThread.new(sink, context, on_foreign) if sink || on_foreign
          build_proxy(last, last_bytes)
          @proxy.__send__(:_bound, out_bytes)
        rescue
          release
          raise
        end
      end

      # Moves records until somebody calls {#stop}.
      # @return [self]
      # @raise [ClosedError] when it is closed already
      # @raise [ContextTerminatedError] when its context is shut down meanwhile
      # @raise [StateError] when it runs already
      # @raise [ForkedError]
      def run
        begin_helpers
        @proxy.run
        self
      end

      # Does so on a thread of its own.
      # @return [self]
      # @raise [Error] as {#run}
      def start
        begin_helpers
        @proxy.start
        self
      end

      # Ends it at once: nothing more is taken. Does not wait for the end (see {#wait}); {#run} and
      # {#start} go on later.
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

      # What it knows: `input`, `output`, `control` (endpoints), `uptime` (seconds), `messages`,
      # `bytes`, `records`, `plain` (lines), `foreign` (neither), `lost`, `late`, `levels` (records
      # and lines of each), `sent` (to the publisher, which may drop), `skipped` (see `out_bytes:`),
      # `unanswered` (see `answer_bytes:`), `kept` (as {#last} gives them), `writers`: their number,
      # `forgotten`: that of those which were too many, `sink` (`written`, `failed`, `error`; or
      # nil), and `accounts` of the writers that were heard last: `writer`, `prog`, `host`, `first`,
      # `last`, `received`, `lost`, `late`, `bytes`, `lag` and `longest_lag` (seconds between its
      # clock and ours), `idle` (seconds), `levels`.
      # @param writers [Integer] how many, 0 or more, at most
      # @param accounts [Integer, nil] the old name of `writers:`
      # @return [Hash{String => Object}] ready for JSON
      # @raise [ArgumentValueError] when that is not allowed
      # @raise [ForkedError]
      def statistics(writers: 1000, accounts: nil)
        if accounts
          Deprecation.warn("statistics(accounts:)", "statistics(writers:)")
          writers = accounts
        end
        unless writers.is_a?(Integer) && !writers.negative?
          raise Errors.bad_value(:statistics, "writers:", "a number, 0 or more", writers)
        end
        totals = Report.totals(@passed.totals)
        moved = @proxy.statistics
        {
          "version" => VERSION,
          "uptime" => (Timeout.now - @began).round(3),
          "input" => @input.endpoints,
          "output" => @output.endpoints,
          "control" => @control&.endpoints || [],
          "running" => running?,
          **totals,
          "sent" => moved.backend.sent,
          "skipped" => moved.dropped,
          "unanswered" => @control&.dropped || 0,
          "sink" => @sink_thread&.to_h,
          "accounts" =>
            @passed.writers([writers, MOST_WRITERS].min).map { |values| Report.writer(values) }
        }
      end

      # The last records that passed, the oldest first; what is chosen counts, so ten errors may be
      # further back than ten records.
      # @param count [Integer] at most so many, 0 or more
      # @param level [String, Symbol, Integer, Array, nil] as {Reader.subscribe} takes it; so are
      #   prog, host and tag
      # @param prog [String, Array<String>, nil]
      # @param host [String, Array<String>, nil]
      # @param tag [String, Array<String>, nil]
      # @return [Array<Record>]
      # @raise [ArgumentError] for a level that there is not
      # @raise [ArgumentValueError] when the count is not allowed
      # @raise [ForkedError]
      def last(count = 100, level: nil, prog: nil, host: nil, tag: nil)
        unless count.is_a?(Integer) && !count.negative?
          raise Errors.bad_value(:last, "the count", "a number, 0 or more", count)
        end
        filter = Filter.new(level: level, prog: prog, host: host, tag: tag)
        most = [count, MOST_LAST].min
        return remembered(most) if filter.everything?
        remembered(MOST_LAST).select { |record| filter.fits?(record) }.last(most)
      end

      # Has a block called for what happens to the connections of writers and readers, in a thread
      # of its own.
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

      # Takes what libzmq has received (for a third of a second at most, as writers may go on),
      # stops, hands the sink what was taken, waits for that (three seconds at most), and closes
      # everything. A second call does nothing.
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

      # dup and clone make no sense.
      # @private
      def initialize_copy(_original)
        raise Errors.build(
          UnsupportedError, :dup, nil,
          "a broadcaster cannot be copied: make another with Broadcaster.new"
        )
      end
    end
  end
end

# Below, since they open the class that is to be loaded by now.
require_relative "broadcaster/control_server"
require_relative "broadcaster/sink_thread"
require_relative "broadcaster/report"
require_relative "broadcaster/parts"
