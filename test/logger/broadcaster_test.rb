# frozen_string_literal: true

require "test_helper"
require_relative "constants"
require_relative "made_records"

# Broadcasters between many writers, many readers and a sink.
class LoggerBroadcasterTest < Godwit::TestCase
  include Godwit::TestSupport::Constants
  include MadeRecords

  Broadcaster = Godwit::Logger::Broadcaster
  Reader = Godwit::Logger::Reader
  ANY = "tcp://127.0.0.1:*"

  # A sink that collects the records of each batch.
  class Sink
    attr_reader :records

    def initialize(&each_batch)
      @records = []
      @closed = false
      @each_batch = each_batch
    end

    def write(records)
      @each_batch&.call(records)
      @records.concat(records)
    end

    def close = @closed = true

    def closed? = @closed
  end

  def broadcaster(input = ANY, output = ANY, **options)
    own(Broadcaster.new(input, output, context: context, **options))
  end

  def push_to(broadcaster, **options)
    open_socket(:PUSH, **options).connect(broadcaster.input.first)
  end

  # Opens a reader, and sends records of a new writer until the reader has the last one: then the
  # reader's subscriptions have arrived. Other readers receive some of these records too.
  def subscriber(broadcaster, **options)
    one = own(Reader.subscribe(broadcaster.output.first, context: context, **options))
    push = push_to(broadcaster)
    seq = 0
    id = format("%032x", (@serial = @serial.to_i + 1) << 64)
    record = eventually do
      push.send(frames(seq += 1, writer: id, level: 5))
      one.recv(timeout: 0.02, exception: false)
    end
    push.close
    record = one.recv(timeout: 5) until [record.writer, record.seq] == [id, seq]
    one
  end

  # @return [Array<Godwit::Logger::Record>] the next `count` records of these writers
  def records_of(reader, writers, count)
    found = []
    until found.size == count
      found.concat([reader.recv(timeout: 5)].select { |record| writers.include?(record.writer) })
    end
    found
  end

  test "a batch is passed on as its records: each reader gets its subscriptions, the sink all, " \
    "in order" do
    sink = Sink.new
    relay = broadcaster(sink: sink).start
    errors = subscriber(relay, level: "error+")
    push = push_to(relay)
    made = (1..300).map { |i| frames(i, tseq: (i + 5) / 6, level: i % 6) }
    push.send(batch(made.first(200)))
    push.send(["godwit-log-batch", "no batch"])
    push.send(batch(made.drop(200)))
    assert_equal made.select.with_index(1) { |_, i| i % 6 >= 3 },
      records_of(errors, [WRITER], 150).map(&:frames)
    assert_equal 0, errors.lost
    eventually { relay.statistics["sink"]["written"] == relay.statistics["records"] }
    assert_equal made, sink.records.select { |record| record.writer == WRITER }.map(&:frames)
    assert_equal [1, 300],
      [
        relay.statistics["foreign"],
        relay.statistics["accounts"].find { |one| one["writer"] == WRITER }["received"]
      ]
    assert_equal made.last(5), relay.last(5).map(&:frames)
  end

  test "a broadcaster runs, stops, and runs again" do
    relay = broadcaster
    refute_predicate relay, :running?
    running = in_thread { relay.run }
    eventually { relay.running? }
    assert_raises(Godwit::StateError) { relay.start }
    push_to(relay).send(frames(1))
    eventually { relay.statistics["messages"] == 1 }
    assert_nil relay.wait(0)
    assert_same relay, relay.stop
    assert_same relay, ended(running)
    relay.start
    push_to(relay).send(frames(2))
    eventually { relay.statistics["messages"] == 2 }
    assert_same relay, relay.stop.wait(5)
    refute_predicate relay, :running?
  end

  LARGE = "x" * 100_000

  test "a stuck reader delays no other reader, and sees what it lost" do
    relay = broadcaster(send_hwm: 10).start
    stuck = subscriber(relay, recv_hwm: 1, recv_buffer_size: 4_096)
    reader = subscriber(relay)
    push = push_to(relay)
    1.upto(100) do |seq|
      push.send(frames(seq, text: LARGE), timeout: 10)
      assert_equal seq, records_of(reader, [WRITER], 1).first.seq
    end
    last = 100
    eventually do # the reader detects a loss at the next record
      push.send(frames(last += 1))
      stuck.recv(timeout: 0.01, exception: false) && stuck.lost.positive?
    end
    account = stuck.writers.find { |one| one.writer == WRITER }
    assert_equal account.last - account.first + 1, account.received + account.lost
  end

  test "foreign messages may be observed, with a sink and without; the observer may raise" do
    foreign = [%w[a b], ["", "", ""], %w[a b c d]]
    [nil, Sink.new].each do |sink|
      seen = Queue.new
      observer = lambda do |message|
        seen << message
        raise "no" if seen.size == 1
      end
      relay = broadcaster(sink: sink, on_foreign: observer).start
      _, said = capture_io do
        push_to(relay).send_many([frames(1), line(2), frames(3)].zip(foreign).flatten(1))
        eventually { seen.size == 3 }
        relay.close
      end
      assert_equal foreign, Array.new(3) { seen.pop }
      assert_predicate seen, :empty?
      assert_match(/\Agodwit: log to [^\n]*: no \(RuntimeError\)\n\z/, said)
      assert_equal [1, nil, 3], sink.records.map(&:seq) if sink
      assert_equal [(3 if sink)], [relay.statistics.dig("sink", "written")]
    end
  end

  test "close delivers the records that have arrived" do
    sink = Sink.new
    relay = broadcaster(endpoint_for(:inproc), sink: sink, linger: 10).start
    one = subscriber(relay)
    relay.stop.wait(5)
    push_to(relay).send_many(Array.new(600) { |i| frames(i + 1) })
    with_constants(Broadcaster, DRAIN: 10) { relay.close } # close receives for 10 s at most
    assert_equal [*1..600], sink.records.select { |record| record.writer == WRITER }.map(&:seq)
    assert_equal [*1..600], Array.new(600) { one.recv(timeout: 5).seq }
    assert_predicate sink, :closed?
  end

  test "a record is in the sink before a reader gets it; a sink that hangs is left behind " \
    "when it is closed" do
    gate = Queue.new
    relay = broadcaster(sink: Sink.new { gate.pop }).start
    push_to(relay).send_many(Array.new(3_000) { |index| frames(index + 1) })
    until_waiting(gate)
    assert_equal 0, relay.statistics["sent"]
    _, warnings =
      capture_io do
        with_constants(Godwit::Logger.const_get(:RecordInput), CLOSE_TIMEOUT: 0.1) { relay.close }
      end
    assert_match(/did not end within 0.1 s/, warnings)
    assert_match(/did not end/, relay.statistics["sink"]["error"])
  ensure
    gate.close
  end

  test "a sink that raises is reported once, and its records are counted" do
    sink = Sink.new { |records| raise Errno::ENOSPC, "app.log" if records.first.seq.odd? }
    relay = broadcaster(sink: sink).start
    push = push_to(relay)
    _, warnings = capture_io do
      1.upto(4) do |i|
        push.send(frames(i))
        eventually { relay.statistics["sink"].values_at("written", "failed").sum == i }
      end
    end
    error = "No space left on device - app.log"
    assert_match(/\Agodwit: log to the sink.*#{error}.*1 records were not written.*\n\z/, warnings)
    assert_equal [2, 2, error], relay.statistics["sink"].values_at("written", "failed", "error")
    assert_equal [2, 4], sink.records.map(&:seq)
  end

  test "a slow sink holds the writers back instead of filling memory" do
    gate = Queue.new
    relay = broadcaster(sink: Sink.new { gate.pop }, recv_hwm: 10).start
    push = push_to(relay, send_hwm: 10)
    sent = 0
    sent += 1 while sent < 20_000 &&
        push.send(frames(sent + 1, text: "x" * 50_000), timeout: 0.3, exception: false)
    assert_operator sent, :<, 10_000
    gate.close
    last = sent
    eventually { relay.statistics["sink"]["written"] == last }
    push.close
  end

  # test/cli/log_serve_test.rb tests the error for an address in use.
  test "arguments that are not allowed are named, and no socket stays open" do
    {last: -1, last_bytes: 1.5, sink: 3, on_foreign: 1, in_bytes: 0, out_bytes: 0,
     answer_bytes: 0}.each do |name, value|
      error = assert_raises(Godwit::ArgumentTypeError, Godwit::ArgumentValueError, name.to_s) do
        Broadcaster.new(ANY, :context => context, name => value)
      end
      assert_includes error.message, "#{name}: takes"
    end
    assert_raises(Godwit::EndpointError) { Broadcaster.new("foo", context: context) }
    relay = broadcaster
    [-1, "x", nil].each do |count|
      assert_raises(Godwit::ArgumentValueError) { relay.statistics(writers: count) }
    end
  end

  test "the block form closes, an interrupt and the context's end end it, and a copy is refused" do
    seen = nil
    value = Broadcaster.new(ANY, context: context) { |one| (seen = one.start) && :value }
    assert_equal :value, value
    assert_predicate seen, :closed?
    seen.close
    assert_raises(Godwit::ClosedError) { seen.start }
    assert_match(/closed/, seen.inspect)
    home = own(Godwit::Context.new)
    relay = Broadcaster.new(ANY, context: home, control: ANY, sink: Sink.new)
    {Interrupt => ->(running) { running.raise(Interrupt) },
     Godwit::ContextTerminatedError => ->(_) { home.shutdown }}.each do |error, ending|
      running = in_thread { assert_raises(error, Godwit::ClosedError) { relay.run } }
      eventually { relay.running? }
      ending.call(running)
      ended(running)
      refute_predicate relay, :running?
    end
    assert_raises(Godwit::UnsupportedError) { relay.dup }
  ensure
    relay&.close
  end

  %w[with without].each do |word|
    test "the records that wait for a reader are bounded in bytes: later ones count as skipped, " \
      "until that reader has gone (#{word} a sink)" do
      not_on :ffi, "only high-water marks bound the answers that a reader does not read"
      relay = broadcaster(out_bytes: 1_000_000, sink: (Sink.new if word == "with")).start
      push = push_to(relay)
      stuck =
        open_socket(:SUB, subscribe: "", recv_hwm: 1, recv_buffer_size: 4096).connect(
          relay.output.first
        )
      eventually { push.send(frames(1)) && stuck.recv(timeout: 0.01, exception: false) }
      300.times { |index| push.send(frames(index + 2, text: LARGE), timeout: 10) }
      eventually { relay.statistics["skipped"].positive? }
      reader = open_socket(:SUB, subscribe: "").connect(relay.output.first)
      # The limit `out_bytes:` counts only frames over 4 KiB, so small records reach the new reader.
      eventually do
        push.send(frames(1, text: "small")) && reader.recv(timeout: 0.01, exception: false)
      end
      stuck.close
      assert(
        eventually do
          push.send(frames(1, text: LARGE)) &&
            reader.recv(timeout: 0.01, exception: false)&.last == LARGE
        end
      )
    end
  end

  test "a client that asks and does not read its answers gets no more than fit" do
    relay = broadcaster(control: ANY, last: 1_000, answer_bytes: 1).start
    push_to(relay).send_many(Array.new(1_000) { |index| frames(index + 1, text: "x" * 3_000) })
    eventually { relay.statistics["kept"] == 1_000 }
    asking =
      open_socket(:DEALER, recv_hwm: 1, recv_buffer_size: 4096, linger: 0).connect(
        relay.control.first
      )
    eventually do
      asking.send_nonblock(["", JSON.generate(ask: "last", n: 1_000)], exception: false)
      relay.statistics["unanswered"].positive?
    end
    control = own(Godwit::Logger::Control.new(relay.control.first, context: context))
    assert_equal 1_000, control.statistics["records"]
  end

  test "a frame beyond max_message_size ends its writer's connection; others, and its next " \
    "message, are taken" do
    relay = broadcaster(max_message_size: 10_000).start
    stranger = push_to(relay, reconnect_interval: 0.01)
    stranger.send("x" * 10_001)
    eventually { stranger.send("line") && relay.statistics["plain"].positive? }
    assert_operator relay.statistics["bytes"], :<, 10_001
  end
end
