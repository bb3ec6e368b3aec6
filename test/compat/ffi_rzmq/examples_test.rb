# frozen_string_literal: true

require "socket"
require_relative "ffi_rzmq_case"

# examples/ffi-rzmq: programs for that gem, which run unchanged with it and through the layer.
class FFIRzmqExamplesTest < FFIRzmqCase
  # Each runtime talks to itself, and the layer to the gem.
  PAIRS =
    [:gem, *RUNTIMES.keys].zip([:gem, *RUNTIMES.keys]) +
    [%i[native gem], *([%i[gem ffi]] if RUNTIMES.key?(:ffi))]

  def self.each_pair(sentence, &body)
    PAIRS.each do |local, remote|
      test "#{sentence}: #{[local, remote].uniq.join(" and ")}" do
        skip NO_JRUBY if NO_JRUBY && [local, remote].include?(:jruby)
        instance_exec(local, remote, &body)
      end
    end
  end

  each_pair "latency, with Strings" do |local, remote|
    local, remote = both("lat", local, remote, 100, 50)
    assert_equal "sent 50 messages back\n", local.stdout
    assert_match(
      /\Amessage size: 100 \[B\]\nround trips: 50\nmean latency: \d+\.\d+ \[us\]\n\z/, remote.stdout
    )
  end

  each_pair "latency, without copies" do |local, remote|
    local, remote = both("lat_zerocopy", local, remote, 100_000, 50)
    assert_equal "sent 50 messages back\n", local.stdout
    assert_match(
      /\Amessage\ size:\ 100000\ \[B\]\nround\ trips:\ 50\nits\ number:\ 4711\n
        mean\ latency:\ \d+\.\d+\ \[us\]\n\z/x,
      remote.stdout
    )
  end

  each_pair "throughput" do |local, remote|
    local, remote = both("thr", local, remote, 100, 5000)
    assert_match(
      %r{\Amessage\ size:\ 100\ \[B\]\nmessage\ count:\ 5000\n
        mean\ throughput:\ \d+\ \[msg/s\]\nmean\ throughput:\ \d+\.\d+\ \[Mb/s\]\n\z}x,
      local.stdout
    )
    assert_equal "sent 5000 messages\n", remote.stdout
  end

  each_pair "publish and subscribe, until Ctrl-C" do |local, remote|
    publisher = start("publish", [endpoint], on: local)
    subscriber = start("subscribe", [endpoint, 20, "rome", "quito"], on: remote).finish
    assert_equal "20 updates of quito and rome\n", assert_child(subscriber).stdout
    result = publisher.signal(:INT).finish
    assert_equal "no more weather\n", assert_child(result).stdout
  end

  [:gem, *RUNTIMES.keys].each do |runtime|
    test "a poll of two sockets on #{runtime}" do
      skip NO_JRUBY if NO_JRUBY && runtime == :jruby
      assert_equal "asked 50 times, heard 50 news, the last answer was: answer to question 49\n",
        assert_child(start("poll", [50], on: runtime).finish).stdout
    end

    test "a queue of clients and workers on #{runtime}" do
      skip NO_JRUBY if NO_JRUBY && runtime == :jruby
      assert_equal "120 right answers; 3 workers heard of the end\n",
        assert_child(start("queue", [4, 3, 30], on: runtime).finish).stdout
    end
  end

  private

  def start(name, args, on:)
    start_old("examples/ffi-rzmq/#{name}.rb", args, on: on)
  end

  # Over ipc libzmq loses what a sender had queued when it closes, so this takes tcp. The address
  # belongs to this process: on 127.0.0.1 another test may get the port before the program binds it.
  def endpoint
    @endpoint ||=
      TCPServer.open(own_host, 0) { |server| "tcp://#{server.addr[3]}:#{server.addr[1]}" }
  end

  # @return [Array<Result>] of both ends
  def both(name, local, remote, *numbers)
    ends = [
      start("local_#{name}", [endpoint, *numbers], on: local),
      start("remote_#{name}", [endpoint, *numbers], on: remote)
    ]
    ends.map { |child| assert_child(child.finish) }
  end
end
