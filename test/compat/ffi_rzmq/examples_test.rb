# frozen_string_literal: true

require "socket"
require_relative "ffi_rzmq_case"

# The programs in examples/ffi-rzmq run unchanged with the gem ffi-rzmq and with Godwit's layer.
class FFIRzmqExamplesTest < FFIRzmqCase
  # The runtimes of an example's two programs: twice the same runtime, or the layer and the gem.
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

  # name => [program, size of a message, number of messages, the outputs of the two programs]
  MEASUREMENTS = {
    "latency, with Strings" => ["lat", 100, 50, /\Asent 50 messages back\n\z/,
      /\Amessage size: 100 \[B\]\nround trips: 50\nmean latency: \d+\.\d+ \[us\]\n\z/],
    "latency, without copies" => ["lat_zerocopy", 100_000, 50, /\Asent 50 messages back\n\z/,
      /\Amessage\ size:\ 100000\ \[B\]\nround\ trips:\ 50\nits\ number:\ 4711\n
        mean\ latency:\ \d+\.\d+\ \[us\]\n\z/x],
    "throughput" => ["thr", 100, 5000,
      %r{\Amessage\ size:\ 100\ \[B\]\nmessage\ count:\ 5000\n
        mean\ throughput:\ \d+\ \[msg/s\]\nmean\ throughput:\ \d+\.\d+\ \[Mb/s\]\n\z}x,
      /\Asent 5000 messages\n\z/]
  }.freeze

  MEASUREMENTS.each do |sentence, (name, *numbers, local_output, remote_output)|
    each_pair sentence do |local, remote|
      local = start("local_#{name}", [endpoint, *numbers], on: local)
      remote = start("remote_#{name}", [endpoint, *numbers], on: remote)
      assert_match local_output, assert_child(local.finish).stdout
      assert_match remote_output, assert_child(remote.finish).stdout
    end
  end

  each_pair "publish and subscribe, until Ctrl-C" do |local, remote|
    publisher = start("publish", [endpoint], on: local)
    subscriber = start("subscribe", [endpoint, 20, "rome", "quito"], on: remote).finish
    assert_equal "20 updates of quito and rome\n", assert_child(subscriber).stdout
    result = publisher.signal(:INT).finish
    assert_equal "no more weather\n", assert_child(result).stdout
  end

  {"poll" => [[50],
    "asked 50 times, heard 50 news, the last answer was: answer to question 49\n"],
   "queue" => [[4, 3, 30], "120 right answers; 3 workers heard of the end\n"]}
    .each do |name, (args, output)|
      [:gem, *RUNTIMES.keys].each do |runtime|
        test "#{name} on #{runtime}" do
          skip NO_JRUBY if NO_JRUBY && runtime == :jruby
          assert_equal output, assert_child(start(name, args, on: runtime).finish).stdout
        end
      end
    end

  private

  def start(name, args, on:)
    start_old("examples/ffi-rzmq/#{name}.rb", args, on: on)
  end

  # Over ipc libzmq loses queued messages when the sender closes, so this is a tcp endpoint. Only
  # this process uses the address: on 127.0.0.1 another test might take the port first.
  def endpoint
    @endpoint ||=
      TCPServer.open(own_host, 0) { |server| "tcp://#{server.addr[3]}:#{server.addr[1]}" }
  end
end
