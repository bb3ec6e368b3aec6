# frozen_string_literal: true

require "timeout"
require_relative "logs"
require "support/tiny_scheduler"

# What a full queue does to records, and to threads that log.
class LoggerOverflowTest < Godwit::TestCase
  include Godwit::TestSupport::Logs

  # @return [Array<Godwit::Logger::Record>] the first `count` records that a new PULL receives; the
  #   report of the loss is the last
  def receive(endpoint, count)
    pull = RecordPull.new(open_socket(:PULL).bind(endpoint))
    Array.new(count) { Godwit::Logger::Record.parse(pull.recv(timeout: 5)) }
  end

  # Logs a record, and waits until the sender has dequeued it. The sender cannot send this record.
  def stall(log)
    log.info("held")
    eventually { log.stats.queued == 1 && queue_of(log).empty? }
  end

  # The clock advances 0.1 s at each read, so the callers' wait for room soon ends.
  def impatient(&block) = with_clock(Godwit::TestSupport::ManualClock.new(tick: 0.1), &block)

  def queue_of(log) = writer_of(log).queue

  test "drop_new keeps the oldest, counts the others, and reports the loss when there is room " \
    "again; the numbers of a topic leave gaps as large as its losses" do
    endpoint = nowhere
    log = logger(endpoint, queue: 10)
    stall(log)
    30.times { |number| assert_equal true, log.add((number < 27) ? 1 : 3, number.to_s) }
    assert_equal [11, 0, 20, nil], log.stats.to_h.values_at(:queued, :sent, :dropped, :last_error)
    @record_pull = RecordPull.new(open_socket(:PULL).bind(endpoint))
    received = records(12)
    notice = received.find { |one| one.payload }
    texts = received.map(&:text) - [notice.text]
    assert_equal ["held", *"0".."9"], texts
    assert_match(/\Adropped 20 in \d+\.\d s\z/, notice.text)
    assert_equal ["WARN", 20], [notice.label, notice.payload["dropped"]]
    assert_equal 32, received.last.seq
    [1, 3].each { |level| log.add(level, "after") }
    assert_equal [[33, 29], [34, 4]], records(2).map { |one| [one.seq, one.tseq] }
    assert log.flush(timeout: 5)
    assert_equal [0, 14], log.stats.to_h.values_at(:queued, :sent)
  end

  test "a socket that takes nothing while callers waited for a second is mute, until it takes " \
    "something" do
    pull = RecordPull.new(open_socket(:PULL, recv_hwm: 10).bind(endpoint_for(:inproc)))
    log = logger(pull.last_endpoint, queue: 10, send_hwm: 10, context: context)
    may_lose
    impatient { log.info("x") until queue_of(log).unresponsive? }
    1_000.times { log.info("x") }
    assert_predicate queue_of(log), :unresponsive?
    pull.recv_many(100)
    eventually { !queue_of(log).unresponsive? }
  end

  test "drop_old keeps the newest" do
    endpoint = nowhere
    log = logger(endpoint, queue: 10, overflow: :drop_old)
    stall(log)
    impatient { 30.times { |number| log.info(number.to_s) } }
    assert_equal [11, 20], log.stats.to_h.values_at(:queued, :dropped)
    assert_equal ["held", *"20".."29"], receive(endpoint, 12).reject(&:payload).map(&:text)
  end

  test "the bound in bytes holds too" do
    may_lose
    log = logger(nowhere, queue_bytes: 100_000, linger: 0)
    stall(log)
    impatient { 100.times { log.info("x" * 10_000) } }
    assert_includes 4..5, log.stats.queued - 1 # half of queue_bytes is for libzmq's queue
    assert_operator log.stats.dropped, :>=, 90
  end

  test "while a reader reads, a full queue loses nothing" do
    received, stats =
      patient_callers { receiving(logger(queue: 100)) { |log| 5_000.times { log.info("x") } } }
    assert_equal [5_000, 0], [stats.sent, stats.dropped]
    assert_equal (1..5_000).to_a, received.map(&:seq)
  end

  test "block: the caller waits for room, in order" do
    endpoint = nowhere
    log = logger(endpoint, queue: 5, overflow: :block)
    stall(log)
    5.times { |number| log.info(number.to_s) }
    caller = in_thread { log.info("5") }
    until_full(log)
    assert_equal ["held", *"0".."5"], receive(endpoint, 7).map(&:text)
    assert_equal true, caller.value
    assert_equal 0, log.stats.dropped
  end

  test "block: block_timeout ends the wait, and the record is dropped" do
    may_lose
    log = logger(nowhere, queue: 1, overflow: :block, block_timeout: 0.05, linger: 0)
    stall(log)
    log.info("fills it")
    start = monotonic
    assert_equal true, log.info("x")
    assert_operator monotonic - start, :>=, 0.04
    assert_equal 1, log.stats.dropped
  end

  test "block: kill, raise, Timeout and close end the wait" do
    may_lose
    endpoint = nowhere
    log = logger(endpoint, queue: 1, overflow: :block, linger: 20)
    stall(log)
    log.info("fills it")
    killed = in_thread { log.info("x") }
    until_full(log)
    ended(killed.kill)
    raised = in_thread { log.info("x") }
    until_full(log)
    raised.raise(ArgumentError, "not an error of the logger's own")
    assert_raises(ArgumentError) { ended(raised) }
    assert_raises(::Timeout::Error) { ::Timeout.timeout(0.05) { log.info("x") } }
    waiting = in_thread { log.info("x") }
    until_full(log)
    closing = in_thread { log.close }
    assert_equal true, waiting.value
    assert_predicate closing, :alive? # close waits for linger, or for a reader
    assert_equal ["held", "fills it"], receive(endpoint, 2).map(&:text)
    assert_nil closing.value
    capture_io { assert_equal true, log.info("late") }
  end

  test "block: a fiber that waits lets others run" do
    not_on :jruby, "JRuby has no fiber scheduler"
    endpoint = nowhere
    log = logger(endpoint, queue: 1, overflow: :block)
    stall(log)
    log.info("fills it")
    order = []
    thread = Godwit::TestSupport::TinyScheduler.thread do
      Fiber.schedule do
        order << :waits
        log.info("x")
        order << :logged
      end
      Fiber.schedule { order << :other }
    end
    eventually { order.include?(:other) }
    refute_includes order, :logged
    assert_equal ["held", "fills it", "x"], receive(endpoint, 3).map(&:text)
    assert thread.join(5)
    assert_equal %i[waits other logged], order
  end

  test "its own messages go to stderr, once in a while" do
    log = logger(nowhere, linger: 0)
    _, said = capture_io do
      log.close
      with_clock do |clock|
        3.times { assert_equal true, log.info("late") }
        clock.advance(10)
        log.info("later")
      end
    end
    line = "godwit: log to #{log.inspect[/ipc:\S+/]}: it is closed: records are dropped"
    assert_equal [line, "#{line} (and 2 more since the last such line)"], said.lines.map(&:chomp)
    assert_equal 4, log.stats.dropped
  end

  test "logged records are received or count as dropped, wherever the close finds the sender" do
    may_lose
    1.upto(6) do |taken|
      @record_pull = RecordPull.new(open_socket(:PULL, recv_hwm: 1).bind(endpoint_for(:inproc)))
      log = logger(@record_pull.last_endpoint, context: context, queue: 5, send_hwm: 1, linger: 0)
      with_constants(Godwit::Logger.const_get(:BoundedQueue), LONGEST_WAIT: 0.01) do
        30.times { |number| log.info(number.to_s) }
      end
      texts = Array.new(taken) { record.text }
      capture_io { log.close }
      while (message = @record_pull.recv(timeout: 0, exception: false))
        texts << Godwit::Logger::Record.parse(message).text
      end
      assert_equal 30, texts.grep(/\A\d+\z/).size + log.stats.dropped, "after #{taken}: #{texts}"
      @record_pull.close
    end
  end

  test "queue_bytes: holds for libzmq's queue too" do
    not_on :ffi, "every String is copied when it is sent, and not counted there"
    not_on :jruby, "every String is copied when it is sent, and not counted there"
    may_lose
    @record_pull = RecordPull.new(open_socket(:PULL, recv_hwm: 100_000).bind(endpoint_for(:inproc)))
    log = logger(@record_pull.last_endpoint, context: context, queue_bytes: 2_000_000, linger: 0)
    log.info("first")
    assert_equal "first", record.text
    impatient { 200.times { |number| log.info("#{number} #{"x" * 50_000}") } }
    stats = nil
    eventually do
      stats = log.stats
      stats.sent > 4 && stats.queued + stats.sent + stats.dropped == 201
    end
    assert_operator 50_000 * (stats.queued + stats.sent), :<, 2_000_000
    assert_equal (0...stats.sent - 1).to_a, records(stats.sent - 1).map { |one| one.text.to_i }
    eventually { log.stats.sent > stats.sent } # the reads made room for further records
  end
end
