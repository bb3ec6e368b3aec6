# frozen_string_literal: true

require "timeout"
require_relative "logs"

# Many threads, killed threads, flush, close and reopen.
class LoggerThreadsTest < Godwit::TestCase
  include Godwit::TestSupport::Logs

  # Records of each thread; `rake logger:long` sets 50,000.
  COUNT = ENV.fetch("GODWIT_TEST_RECORDS", (RUBY_ENGINE == "jruby") ? 500 : 1_000).to_i

  # Rounds of kills; parallel threads log thousands of records in each round.
  ROUNDS = (RUBY_ENGINE == "jruby") ? 5 : 20

  test "eight threads: per thread in order, none lost, none mixed" do
    count = rounds(COUNT, stressed: 100)
    patient_callers do
      received, stats = receiving(logger) do |log|
        threads = Array.new(8) do |thread|
          in_thread { count.times { |number| log.info("#{thread} #{number}", t: thread) } }
        end
        threads.each(&:value)
      end
      assert_in_order received, stats
      assert_equal [0, 8 * count, 8],
        [stats.dropped, received.size, received.map(&:thread).uniq.size]
    end
  end

  def assert_in_order(received, stats)
    seqs = received.map(&:seq)
    assert_equal seqs.uniq.sort, seqs
    assert_equal stats.dropped, seqs.last - seqs.size
    received.map(&:text).grep(/\d \d/).group_by { |text| text[/\S+/] }.each_value do |ones|
      numbers = ones.map { |text| text[/\d+\z/].to_i }
      assert_equal numbers.uniq.sort, numbers
    end
  end

  # Each thread calls Thread.pass after a record. Otherwise each thread would log for a whole time
  # slice, more records than a busy machine can receive in time.
  test "threads that are killed and timed out while they log: records arrive whole, in order, " \
    "and none hangs" do
    received, stats = receiving(logger) do |log|
      ROUNDS.times do |round|
        victims = Array.new(3) do |thread|
          in_thread do
            (0..).each { |number| log.info("#{round}/#{thread} #{number}") && Thread.pass }
          end
        end
        assert_raises(::Timeout::Error) do
          ::Timeout.timeout(0.01) { loop { log.info("t") && Thread.pass } }
        end
        victims.each(&:kill).each { |one| assert one.join(5) }
      end
      log.info("last")
    end
    assert_equal "last", received.reject { |one| one.text.start_with?("dropped") }.last.text
    assert_in_order received, stats
  end

  test "the thread that sends is killed: the next record starts another, and none is lost" do
    not_on :jruby, "a kill there may lose the entry that Queue#pop has just taken"
    log = logger
    100.times do |number|
      log.info(number.to_s)
      Thread.list.select { |thread| thread.name == "godwit logger" }.each(&:kill)
    end
    log.info("100")
    assert_equal [*"0".."100"], records(101).map(&:text)
  end

  test "a close while another's first record starts the sender waits for that, and leaves none " \
    "behind" do
    may_lose
    log = logger(nowhere, linger: 0)
    writer = writer_of(log)
    beginning, go = Array.new(2) { Thread::Queue.new }
    writer.define_singleton_method(:spawn) do
      beginning << true
      go.pop
      super()
    end
    first = in_thread { log.info("x") }
    beginning.pop
    capture_io do
      closing = in_thread { log.close }
      eventually { writer.closed? }
      refute closing.join(0.1), "it did not wait"
      go << true
      assert_equal true, first.value
      assert closing.join(5)
    end
    refute_predicate writer, :alive?
  end

  test "flush waits until all is sent, or time is up" do
    log = logger
    10.times { log.info("x") }
    assert_equal true, log.flush(timeout: 5)
    assert_equal [0, 10], log.stats.to_h.values_at(:queued, :sent)
    may_lose
    other = logger(nowhere, linger: 0)
    other.info("x")
    assert_equal false, other.flush(timeout: 0.05)
    waiter = in_thread { other.flush }
    until_full(other)
    capture_io { other.close }
    assert_equal false, waiter.value
    assert_equal false, other.flush, "after it was closed in vain"
    other.reopen
    assert_equal true, other.flush
    log.close
    assert_equal true, log.flush
  end

  test "close is idempotent, from several threads too; reopen begins anew" do
    log = logger
    100.times { log.info("x") }
    Array.new(4) { in_thread { log.close } }.each(&:value)
    assert_nil log.close
    assert_same log, log.reopen
    log.info("again")
    received = records(101)
    assert_equal [*["x"] * 100, "again"].sort, received.map(&:text).sort
    assert_equal 2, received.map(&:writer).uniq.size
  end

  {"a queue" => {}, "a spool" => {overflow: :spool}}.each do |name, options|
    test "reopen with another endpoint, beside threads that log, with #{name}: each record comes " \
      "once, and is counted" do
      ears = Array.new(3) { open_socket(:PULL, recv_hwm: 0).bind("tcp://127.0.0.1:*") }
      options = options.merge(spool: "#{scratch_dir}/spool") if options.any?
      log = logger(ears.first.last_endpoint, linger: 5, **options)
      stop = false
      logged = Array.new(4, 0)
      threads =
        Array.new(4) do |thread|
          in_thread { log.info("#{thread} #{logged[thread] += 1}") && Thread.pass until stop }
        end
      9.times do |number|
        await { logged.sum >= 100 * number }
        endpoint = ears[(number + 1) % 3].last_endpoint
        log.reopen(endpoint)
        assert_includes log.inspect, endpoint
      end
      stop = true
      threads.each(&:join)
      log.close
      assert_equal [0, logged.sum], [log.stats.queued, log.stats.sent + log.stats.dropped]
      received = []
      poller = open_poller(*ears)
      while received.size < log.stats.sent
        ready = poller.wait(5)
        assert ready.any?, "only #{received.size} of #{logged.sum} came"
        messages = ready.map { |event| event.object.recv }
        received.concat(messages.flat_map { |one| Godwit::Logger::Record.parse_all(one) })
      end
      texts = received.map(&:text)
      assert_equal texts.uniq, texts
    end
  end

  test "an empty host is this machine, as on the command line" do
    local = record_pull.last_endpoint.sub("127.0.0.1", "")
    log = logger(local)
    [log, log.reopen(local)].each do |one|
      one.info("here")
      assert_equal "here", record.text
    end
    assert_includes log.inspect, record_pull.last_endpoint
  end
end
