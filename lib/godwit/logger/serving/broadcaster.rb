# frozen_string_literal: true

%w[control_server durable_input publisher record_input serving_thread].each do |name|
  require_relative name
end
require_relative "statistics" unless Godwit::BACKEND == :native

module Godwit
  class Logger < ::Logger
    # Passes records of many writers to many readers ({Reader.subscribe}), like `godwit log serve`.
    #
    #   broadcaster = Godwit::Logger::Broadcaster.new("tcp://*:7000", "tcp://*:7001",
    #     control: "tcp://*:7002", sink: sink)
    #   broadcaster.run # until another thread calls stop, or a signal comes
    #
    # A reader gets only what it subscribed to. A reader that cannot keep up loses records, which
    # its own statistics count, and delays no other reader.
    #
    # **With a sink**, one thread receives a batch of records, writes it, and then publishes it. A
    # slow sink delays the readers and, through the high-water marks, the writers. $stderr shows the
    # sink's errors, at most one in ten seconds. Without a sink messages go from a PULL to a PUB in
    # C, without Ruby's lock and without Ruby objects (on the FFI backend in a Ruby loop).
    #
    # **Memory**: a broadcaster remembers the last records ({#last}) and statistics of each writer
    # ({#statistics}). A {Control} can ask for them at `control:`.
    #
    # **Threads, signals**: any may call any method; {#stop} also works in a `trap` block. **Fork**:
    # in a child every method raises {ForkedError}; the parent's broadcaster goes on. **Garbage
    # collector**: it runs until {#close} or exit. **Ractors**: it belongs to the one that made it.
    class Broadcaster
      extend Keywords

      HWM = 10_000 # default of `send_hwm:`, in messages for each reader
      MAX_FRAME = 256 << 10 # most bytes of a frame; {Logger} cuts texts to a quarter of that
      MAX_QUEUED = 64 << 20 # default of `in_bytes:`, `out_bytes:` and `answer_bytes:`
      LEAST_HWM = 64 # least `recv_hwm:`, in messages of a writer; fewer would slow writers down
      MAX_WRITERS = 10_000 # writers with statistics; one more replaces the longest idle writer
      MAX_LAST = 1_000_000 # most records that may be remembered
      MAX_BYTES = 1 << 30 # most bytes of the remembered records
      LINGER = 0.3 # seconds that a blocked reader may delay the process's end
      DRAIN = 0.3 # seconds in which {#close} passes on received messages
      QUIET = 0.01 # seconds between two readings of the proxy's counters
      # The class in C, which a proxy calls without Ruby's lock, or the class in Ruby.
      STATISTICS = (BACKEND == :native) ? Backend::Native::Statistics : Statistics
      private_constant :HWM, :MAX_FRAME, :MAX_QUEUED, :LEAST_HWM, :MAX_WRITERS, :MAX_LAST,
        :MAX_BYTES, :LINGER, :DRAIN, :QUIET, :STATISTICS

      class << self
        # Makes a broadcaster that does not run yet. With a block: yields it, closes it afterwards,
        # and returns the block's value.
        # @param sides [Array] input and output, see {#initialize}
        # @param options [Hash] see {#initialize}
        # @return [Broadcaster] or the block's value
        # @see #initialize
        def new(*sides, **options, &block) = AutoClose.with(super(*sides, **options, &nil), &block)
      end

      # Binds all endpoints; {#run} or {#start} begins to receive.
      # @param input [String, Array<String>, nil] endpoints to bind, where writers connect
      # @param output [String, Array<String>, nil] endpoints to bind, where readers connect
      # @param control [String, Array<String>, nil] endpoints to bind, where {Control} connects
      # @param durable [String, Array<String>, nil] endpoints to bind, where writers with `durable:`
      #   connect, as those of a {Receiver}; the sink is then a {Sink} of a regular file
      # @param last [Integer] how many records the broadcaster remembers, 0 to 1,000,000
      # @param last_bytes [Integer] most bytes of the remembered records, 0 to 1 GiB; a record of
      #   more than a quarter of it is not remembered
      # @param sink [#write, nil] such as a {Sink}: gets Arrays of {Record}; {#close} closes it
      # @param on_foreign [#call, nil] gets each message that is neither record nor line, as an
      #   Array<String>, or a String of one frame; like a sink, it sends all messages through Ruby
      # @param context [Context, nil] of its sockets; nil: the process's own
      # @param in_bytes [Integer] about how many bytes of each writer's messages may wait here while
      #   the sink is busy; then the writer waits. `recv_hwm:` is made from this number
      # @param out_bytes [Integer] bytes of frames over 4 KiB that may wait for all readers
      #   together; a message beyond that goes to no reader, and counts as `skipped`. Of smaller
      #   frames `send_hwm:` (10,000) may wait for each reader, whose statistics count what it
      #   misses. On the FFI backend a broadcaster without a sink ignores this number
      # @param answer_bytes [Integer] about how many bytes of answers may wait for a {Control} that
      #   does not read; an answer beyond that counts as `unanswered`
      # @param options [Hash] options of all its sockets, as {Socket#initialize}: `curve:`,
      #   `recv_hwm:`…; `linger:` is 0.3 seconds unless given, and `max_message_size:` 256 KiB for a
      #   frame: libzmq disconnects a writer that sends a longer one
      # @raise [AddressInUseError] when an address is in use: the error's `endpoint` names it
      # @raise [ArgumentValueError, ArgumentTypeError] when an argument is not allowed
      # @raise [Error] as {Socket.bind}; nothing stays open then
      def initialize(input, output = nil, control: nil, durable: nil, last: 1000,
        last_bytes: 4 << 20, in_bytes: MAX_QUEUED, out_bytes: MAX_QUEUED, answer_bytes: MAX_QUEUED,
        sink: nil, on_foreign: nil, context: nil, **options)
        check_range("last:", last, MAX_LAST, "a number, 0 to 1,000,000")
        check_range("last_bytes:", last_bytes, MAX_BYTES, "bytes, 0 to 1 GiB")
        check_sink(sink, durable)
        Errors.check_callable(:broadcaster, "on_foreign:", on_foreign)
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
        @passed = STATISTICS.new.open(last, last_bytes, MAX_WRITERS)
        bind_control(control, answer_bytes, last_bytes) if control
        if sink || on_foreign
          write_first(sink, on_foreign, durable, out_bytes)
        else
          @proxy = Proxy.new(@input, @output)
          # These methods are primitives of the backend, and so are private.
          @proxy.__send__(:_observe, @passed)
          @proxy.__send__(:_bound, out_bytes)
        end
      rescue
        release if @owned
        raise
      end

      # Passes records on until {#stop}.
      # @return [self]
      # @raise [ClosedError] after {#close}
      # @raise [ContextTerminatedError] when the broadcaster's context is shut down meanwhile
      # @raise [StateError] when the broadcaster runs already
      # @raise [ForkedError]
      def run
        begin_control
        mover.run
        self
      end

      # Runs as {#run} does, on a thread of its own.
      # @return [self]
      # @raise [Error] as {#run}
      def start
        begin_control
        mover.start
        self
      end

      # Asks the broadcaster to stop, and returns at once. A later {#run} or {#start} continues.
      # @return [self]
      # @raise [ForkedError]
      def stop
        mover.stop
        self
      end

      # Waits until the broadcaster has stopped.
      # @param timeout [Integer, Float, nil] seconds
      # @return [self, nil] nil when time is up
      # @raise [Error] that stopped the broadcaster, unless it or its context was closed
      def wait(timeout = nil) = mover.wait(timeout) && self
      # @return [Boolean] whether the broadcaster passes records on, in this process
      def running? = mover.running?

      # Everything counted so far: `input`, `output`, `control` (endpoints), `uptime` (seconds),
      # `messages`, `bytes`, `records`, `plain` (lines), `foreign` (neither), `lost`, `late`,
      # `levels` (records and lines of each), `sent` (to the publisher, which may drop), `skipped`
      # (see `out_bytes:`), `unanswered` (see `answer_bytes:`), `kept` (for {#last}), `writers`
      # (their number), `forgotten` (writers beyond 10,000), `sink` (`written`, `failed`, `error`;
      # or nil), and `accounts` of the latest writers: `writer`, `prog`, `host`, `first`,
      # `last`, `received`, `lost`, `late`, `bytes`, `lag` and `longest_lag` (seconds between the
      # writer's clock and ours), `idle` (seconds), `levels`.
      # @param writers [Integer] most writers in `accounts`, 0 or more
      # @return [Hash{String => Object}] ready for JSON
      # @raise [ArgumentValueError] when the number is not allowed
      # @raise [ForkedError]
      def statistics(writers: 1000)
        check_count(:statistics, "writers:", writers)
        {"version" => VERSION, "uptime" => (Timeout.now - @began).round(3), "input" => input,
         "output" => output, "control" => control, "running" => running?,
         **named(LoggerConstants::TOTALS, @passed.totals), "sent" => sent, "skipped" => skipped,
         "unanswered" => @control&.dropped || 0, "sink" => written,
         "accounts" => @passed.writers([writers, MAX_WRITERS].min).map { |one| writer(one) }}
      end

      # The last records that were passed on, the oldest first. The filters apply before the count:
      # ten errors may be further back than ten records.
      # @param count [Integer] most records to return, 0 or more
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

      # Sets a block for connection events of writers and readers. The block runs on its own thread.
      # @param kinds [Array<Symbol>] as Socket#on_event accepts them
      # @yieldparam event [Monitor::Event]
      # @return [self]
      # @raise [Error] as Socket#on_event; BusyError while the broadcaster runs without a sink
      def on_event(*kinds, &block)
        [@input, @output].each { |socket| socket.on_event(*kinds, &block) }
        self
      end

      # @return [Integer, nil] port of the input
      def port = @input.port
      # @return [Array<String>] endpoints where writers connect, wildcards replaced
      def input = @input.endpoints
      # @return [Array<String>] endpoints where durable writers connect, wildcards replaced
      def durable = @durable ? @durable.socket.endpoints : []
      # @return [Array<String>] endpoints where readers connect, wildcards replaced
      def output = @output.endpoints
      # @return [Array<String>] endpoints where {Control} connects, wildcards replaced
      def control = @control&.endpoints || []

      # Writes and passes on what libzmq has received (for a third of a second at most, as writers
      # may go on), waits for the sink (three seconds at most), and closes all sockets. A second
      # call does nothing.
      # @return [nil]
      # @raise [ForkedError]
      def close
        raise Errors.build(ForkedError, :close) if forked?
        unless closed?
          @proxy ? close_proxy : close_sink
          @control&.close
        end
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

      private

      def check_range(name, number, most, allowed, operation = :broadcaster)
        return if number.is_a?(Integer) && number.between?(0, most)
        raise Errors.bad_value(operation, name, allowed, number)
      end

      def check_count(operation, name, count)
        check_range(name, count, Float::INFINITY, "a number, 0 or more", operation)
      end

      def check_sink(sink, durable)
        if durable && !sink.is_a?(Sink)
          raise Errors.bad_type(:broadcaster, "sink: with durable:", "a Logger::Sink", sink)
        end
        return if sink.nil? || sink.respond_to?(:write)
        raise Errors.bad_type(:broadcaster, "sink:", "an object with write, or nil", sink)
      end

      def bind(type, endpoints, **options)
        socket = type.new(**@options, **options)
        @owned << socket
        socket.bind(*endpoints) unless endpoints.nil? || endpoints.empty?
        socket
      end

      def bind_control(endpoints, answer_bytes, last_bytes)
        socket = bind(ROUTER, endpoints, **ControlServer.options(answer_bytes, last_bytes))
        @control = ControlServer.new(socket, self)
      end

      # The sink gets a record before the readers get it.
      def write_first(sink, on_foreign, durable, out_bytes)
        @publisher = Publisher.new(@output, @passed, out_bytes)
        socket = bind(ROUTER, durable, **DurableInput::OPTIONS) if durable
        sink = Journal.new(sink) if durable
        @records = RecordInput.new(@input, sink, on_foreign, @publisher)
        if durable
          @durable = DurableInput.new(socket, sink) do |records|
            records.each { |record| @publisher.count(record.frames, record) }
            @publisher.publish(records.map(&:frames))
          end
        end
        @thread = ServingThread.new("godwit log serve", [@records, *@durable])
      end

      # @return [Proxy, ServingThread] an object with the methods run, start, stop and wait
      def mover = @proxy || @thread

      def begin_control
        @begun = true
        @control&.start
      end

      def close_sink
        finished = !@begun || @thread.finish(DRAIN, @records.close_timeout)
        finished ? @records.close_sink : @records.give_up
        @thread.close
      rescue ClosedError, ContextTerminatedError
        @records.close_sink
      end

      def close_proxy
        drain(Timeout.now + DRAIN) if @begun
        @proxy.close
      end

      # The proxy must run to pass on the remaining messages: it may itself hold one of them.
      def drain(finish)
        @proxy.start unless @proxy.running?
        before = nil
        until Timeout.now > finish
          statistics = @proxy.statistics
          now = [statistics.frontend.received, statistics.backend.sent]
          if now == before && now.uniq.one? # no message came between the two readings
            @proxy.close
            return unless @input.wait_readable(0)
            @proxy.start
          end
          before = now
          @proxy.wait(QUIET)
        end
      rescue Error
        nil # the context is closed
      end

      def sent = @proxy ? @proxy.statistics.backend.sent : @publisher.sent
      def skipped = @proxy ? @proxy.statistics.dropped : @publisher.skipped

      def written
        return unless @records&.sink
        {"written" => @records.written + (@durable&.written || 0), "failed" => @records.failed,
         "error" => @records.error&.message}
      end

      def named(names, values)
        levels = Levels::LABELS.zip(values.drop(names.size)).to_h
        {**names.zip(values).to_h, "levels" => levels}
      end

      # Converts nanoseconds (lags) and milliseconds (idle) to seconds.
      def writer(values)
        report = named(LoggerConstants::WRITER, values)
        %w[prog host].each { |name| report[name] = Topic.unescape(report[name]) }
        %w[lag longest_lag].each { |name| report[name] /= 1e9 }
        report["idle"] /= 1e3
        report
      end

      def remembered(most) = @passed.messages(most).filter_map { |frames| Record.parse(frames) }

      def release
        @owned.each(&:close)
        nil
      end
    end
  end
end
