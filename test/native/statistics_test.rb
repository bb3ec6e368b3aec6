# frozen_string_literal: true

require "test_helper"
require "godwit/logger"
require_relative "../logger/made_records"
require_relative "counting"

# A broadcaster's statistics in C: while a proxy writes them, and under GC.
class StatisticsTest < Godwit::TestCase
  include MadeRecords
  include Godwit::TestSupport::Counting

  under_gc_stress

  STATISTICS = Godwit::Logger::Broadcaster.const_get(:STATISTICS)

  def statistics(most: 100, bytes: 50_000, writers: 20) = STATISTICS.new.open(most, bytes, writers)

  # @return [Array] a proxy with these statistics, from a PULL to a PUB, and a PUSH for the PULL
  def observed(statistics, **options)
    pull = open_socket(:PULL, **options).bind(endpoint_for(:inproc))
    proxy = Godwit::Proxy.new(pull, open_socket(:PUB))
    proxy.__send__(:_observe, statistics)
    [proxy, open_socket(:PUSH, **options).connect(pull.last_endpoint)]
  end

  def stopped(proxy) = proxy.stop.wait(5)

  test "no Ruby object is made for a message that passes" do
    proxy, push = observed(statistics)
    messages = Array.new(rounds(5_000, stressed: 50)) { |i| frames(i + 1) }
    proxy.start
    push.send_many(messages.first(10))
    eventually { proxy.statistics.frontend.received == 10 }
    each = objects { proxy.statistics }
    asked = 0
    made = objects do
      push.send_many(messages)
      asked += 1 until proxy.statistics.frontend.received == 10 + messages.size
    end
    assert_operator made - (asked + 1) * each, :<, messages.size / 10
  ensure
    stopped(proxy)
  end

  test "it is read while the proxy writes: whole messages, in order, and sums that fit" do
    total = rounds(20_000, stressed: 50)
    sent = Array.new(total) do |i|
      frames(i + 1, tseq: 1, writer: writer(i % 30), text: "x" * ((i + 1) % 700))
    end
    rounds(8, stressed: 2).times do
      one = statistics(most: 1_000, bytes: 1 << 20)
      proxy, push = observed(one, send_hwm: 0, recv_hwm: 0)
      # All messages are queued before the proxy continues, since this thread cannot send while it
      # reads.
      proxy.pause.start
      push.send_many(sent)
      proxy.resume
      until one.totals.first == total
        # The proxy goes on writing the statistics between these reads.
        seen = Array.new(5) { [one.messages(1_000), one.writers(100)] }
        seen.each { |messages, accounts| assert_whole(messages) && assert_sums(accounts) }
      end
      stopped(proxy)
      assert_equal [total, 0], one.totals.values_at(2, 4)
    end
  end

  def assert_whole(messages)
    seqs = messages.map do |_, header, text|
      header[/"seq":(\d+)/, 1].to_i.tap { |seq| flunk header unless text == "x" * (seq % 700) }
    end
    assert_equal [*seqs.first..seqs.last], seqs if seqs.any?
    true
  end

  def assert_sums(accounts)
    assert_operator accounts.size, :<=, 20
    accounts.each do |account|
      _, _, _, first, last, received, lost = account
      assert_equal [last - first + 1, received], [received + lost, account.last(6).sum],
        account.inspect
    end
  end

  test "a proxy keeps its statistics alive, wherever the collector moves it" do
    proxy, push = observed(statistics)
    GC.start
    GC.compact if GC.respond_to?(:compact)
    proxy.start
    rounds(200, stressed: 5).times do |i|
      push.send(frames(i + 1))
      GC.start if (i % 50).zero?
    end
    eventually { proxy.statistics.frontend.received == rounds(200, stressed: 5) }
    stopped(proxy)
    kept = ObjectSpace.each_object(STATISTICS)
    assert_equal 1, kept.count { |one| one.totals.first == rounds(200, stressed: 5) }
  end

  test "wrong use raises" do
    one = STATISTICS.allocate
    proxy, = observed(statistics)
    assert_raises(RuntimeError) { one.totals }
    assert_raises(RuntimeError) { proxy.__send__(:_observe, one) }
    assert_raises(TypeError) { proxy.__send__(:_observe, "x") }
    one.open(1, 1_000, 1) # opened, since another test reads the totals of all statistics
    assert_raises(TypeError) { one.record(["a", nil]) }
    proxy.start
    assert_raises(Godwit::BusyError) { proxy.__send__(:_observe, one) }
  ensure
    stopped(proxy)
  end

  test "in a child a call raises" do
    one = statistics
    pid = fork do
      one.totals
      exit!(1)
    rescue Godwit::ForkedError
      exit!(0)
    end
    assert_predicate Process.wait2(pid).last, :success?
  end
end
