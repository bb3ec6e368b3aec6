# frozen_string_literal: true

require_relative "support/mruby_case"
require_relative "../interop/peer"

# mruby and another library exchange messages of 1 to 4 frames over tcp, as two processes.
class MRubyInteropTest < MRubyCase
  COUNT = Godwit::TestSupport::Length.of(10_000, long: 100_000)
  PROGRAM = "test/mruby/interop/exchange.rb"

  # @return [Array<String>] the command of a side
  def side(name)
    case name
    when :mruby then interpreter(PROGRAM)
    when :godwit then [RbConfig.ruby, *GEMS.fetch(true), "-Ilib", "-rgodwit", PROGRAM]
    when :pyzmq then [Godwit::TestSupport::Peer::PYTHON, "test/mruby/interop/exchange.py"]
    end
  end

  def assert_exchange(sender, receiver, server_keys: [], client_keys: [])
    receiving = start_command([*side(receiver), "receive", "tcp://127.0.0.1:*", COUNT.to_s,
      *server_keys], deadline: 90)
    endpoint = receiving.wait_for(/^tcp.*\n/).stdout.lines.first.chomp
    sending = start_command([*side(sender), "send", endpoint, COUNT.to_s, *client_keys],
      deadline: 90)
    results = [receiving, sending].map(&:finish)
    assert results.all?(&:success?), results.join("\n")
    sums = results.map { |result| result.stdout.lines.last.to_i }
    assert_operator sums.first, :>, 0
    assert_equal(*sums)
  end

  def skip_without_pyzmq
    reason = Godwit::TestSupport::Peer.missing
    skip reason if reason
  end

  test "mruby sends to the C extension" do
    assert_exchange(:mruby, :godwit)
  end

  test "mruby receives from the C extension, over CURVE" do
    skip "this libzmq has no CURVE" unless Godwit.has?(:curve)
    server, client = Array.new(2) { Godwit::Curve.keypair }
    server_keys, client_keys = [server, client].map do |keys|
      [server.public_key, keys.public_key, keys.secret_key]
    end
    assert_exchange(:godwit, :mruby, server_keys: server_keys, client_keys: client_keys)
  end

  test "mruby sends to pyzmq" do
    skip_without_pyzmq
    assert_exchange(:mruby, :pyzmq)
  end

  test "mruby receives from pyzmq" do
    skip_without_pyzmq
    assert_exchange(:pyzmq, :mruby)
  end
end
