# frozen_string_literal: true

require "test_helper"
require_relative "server_process"

# An Auth under load.
class AuthLoadTest < Godwit::TestCase
  include AuthServerProcess

  # Each set of rules knows anna; every other one knows the second client.
  test "rules are replaced 1,000 times under load" do
    assert_server(<<~'RUBY')
      OTTO = Godwit::Curve.keypair
      SETS = [{"anna" => ANNA.public_key}, {"anna" => ANNA.public_key, "otto" => OTTO.public_key}]
      GUARD.curve(keys: SETS[1])
      rep = serve(curve: KEYS)
      20.times { served(rep) }
      otto = lambda do
        req = client(rep, curve: OTTO, server_key: KEYS.public_key)
        req.send_nonblock("x", exception: false)
        req.recv(timeout: 0.05, exception: false)
        req.close
      end
      stranger = lambda do
        req = client(rep, curve: Godwit::Curve.keypair, server_key: KEYS.public_key)
        req.send_nonblock("x", exception: false)
        req.recv(timeout: 0.05, exception: false)
        req.close
      end
      load = lambda do |count|
        stop = false
        served = 0
        legitimate = Array.new(2) { Thread.new { served(rep).then { served += 1 } until stop } }
        bad = [otto, stranger].map { |one| Thread.new { one.call until stop } }
        count.times do |round|
          GUARD.curve(keys: SETS[round % 2])
          GUARD.deny("10.0.0.#{round % 200}").reset(domain: "x").allow("127.0.0.0/8")
          GUARD.curve(keys: SETS[0])
        end
        await(deadline: HANG) { served > 20 }
        stop = true
        [*legitimate, *bad].each(&:join)
      end
      load.call(20)
      before = facts
      load.call(1_000)
      # With the last set otto is refused, anna is served.
      served(rep)
      zap = Godwit::DEALER.connect("inproc://zeromq.zap.01", linger: 0)
      statuses = [OTTO, ANNA].map do |pair|
        zap.send(["", "1.0", "1", "test", "127.0.0.1", "", "CURVE", pair.raw_public_key])
        zap.recv(timeout: HANG)[3]
      end
      zap.close
      abort statuses.inspect unless statuses == %w[400 200]
      back_to(before)
    RUBY
  end

  test "900 raw connections that stop in mid-handshake do not keep clients out" do
    source = <<~'RUBY'
      Process.setrlimit(:NOFILE, Process.getrlimit(:NOFILE)[1])
      GUARD.curve(keys: {"anna" => ANNA.public_key})
      rep = serve(curve: KEYS, backlog: 1_000, handshake_timeout: HANG)
      20.times { served(rep) }
      STATUS.clear
      before = facts
      puts "port #{rep.port}"
      await(deadline: HANG) { descriptors >= before[0] + 900 }
      10.times { served(rep) }
      stranger = client(rep, curve: Godwit::Curve.keypair, server_key: KEYS.public_key)
      nil until STATUS.pop == ["CURVE", 400]
      stranger.close
      puts "served"
      $stdin.gets
      served(rep)
      back_to(before)
    RUBY
    assert_server(source) do |child|
      port = child.wait_for(/port \d+/).stdout[/port (\d+)/, 1]
      hold = start_child(<<~'RUBY', [port])
        require "socket"
        Process.setrlimit(:NOFILE, Process.getrlimit(:NOFILE)[1])
        start = ["FF00000000000000017F0300"].pack("H*")
        greeting = start + "CURVE".ljust(20, "\0") + "\0" * 32
        parts = ["", greeting[0, 10], greeting, greeting + "\4\xC8\5HELLO".b]
        sockets = Array.new(900) do |number|
          TCPSocket.new("127.0.0.1", ARGV[0].to_i).tap { |one| one.write(parts[number % 4]) }
        end
        puts "held"
        $stdin.read
        sockets.each(&:close)
      RUBY
      hold.wait_for("held")
      child.wait_for("served")
      assert_child hold.finish
      child.stdin.puts("go on")
    end
  end
end
