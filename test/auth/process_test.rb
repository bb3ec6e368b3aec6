# frozen_string_literal: true

require "test_helper"
require "fileutils"
require_relative "../process/forking"

# What happens to an Auth when the process forks or ends.
class AuthProcessTest < Godwit::TestCase
  include Godwit::TestSupport::Forking

  PRELUDE = "#{PRELUDE}\n#{<<~RUBY}"
    KEYS = Godwit::Curve.keypair
    ANNA = Godwit::Curve.keypair

    def server
      rep = Godwit::REP.bind(
        "tcp://127.0.0.1:*", curve: KEYS, auth: "test", handshake_timeout: 1
      )
      Thread.new { rep.serve(messages: true) { |message| message.user_id || "nobody" } }
      rep
    end

    def client(rep)
      Godwit::REQ.connect(
        rep.last_endpoint, curve: ANNA, server_key: KEYS.public_key, linger: 0,
        reconnect_interval: 0.01
      )
    end

    def ask(req) = req.send("who am I?").recv(timeout: HANG)

    def auth = Godwit::Auth.new.tap { |auth| auth.curve(keys: {"anna" => ANNA.public_key}) }
  RUBY

  test "a child's sockets refuse all clients until it creates its own Auth" do
    skip "JRuby cannot fork" if RUBY_ENGINE == "jruby"
    assert_done <<~RUBY
      first = auth
      rep = server
      abort "the parent is not served" unless ask(client(rep)) == "anna"
      in_child do
        calls = [
          -> { first.curve(keys: :any) }, -> { first.plain(users: {}) }, -> { first.allow("::1") },
          -> { first.deny("::1") }, -> { first.reset }, -> { first.on_decision {} },
          -> { first.cert("anna") }, -> { first.close }, -> { first.closed? }
        ]
        calls.each { |call| forked(&call) }
        raise first.inspect unless first.inspect == "#<Godwit::Auth of another process>"
        mine = server
        events = mine.monitor(:handshake_failed_no_detail, :handshake_succeeded)
        waiting = client(mine).send("who am I?")
        2.times do
          name = events.next_event(timeout: HANG).name
          raise name.to_s unless name == :handshake_failed_no_detail
        end
        second = auth
        answer = waiting.recv(timeout: HANG)
        raise answer unless answer == "anna"
        second.close
        true
      end
      abort "the parent was disturbed" unless ask(client(rep)) == "anna" && !first.closed?
    RUBY
  end

  # The blocks sleep for ever: an end that waited for one would exceed the child's deadline.
  [
    "", "Godwit.context.close", "Godwit.context.shutdown", "GUARD.close",
    "Thread.new { exit(0) }.join"
  ].each do |ending|
    test "the end of a process by #{ending.inspect} waits for no Auth and no block" do
      result = run_child(<<~RUBY)
        #{PRELUDE}
        GUARD = auth
        begun = Queue.new
        GUARD.curve { begun << true; sleep }
        GUARD.on_decision { sleep }
        rep = server
        req = client(rep)
        req.send("x")
        begun.pop
        puts "ends"
        #{ending}
      RUBY
      assert_child result
      assert_includes result.stdout, "ends"
      # JRuby ends threads one by one, so one worker of the Auth may warn that another has ended.
      assert_empty result.stderr unless RUBY_ENGINE == "jruby"
    end
  end

  test "an Auth that was forgotten goes on, and a dead one keeps its endpoint" do
    assert_done <<~RUBY
      auth
      rep = server
      3.times { collect_garbage }
      abort "not served" unless ask(client(rep)) == "anna"
      Thread.list.find { |thread| thread.name == "godwit auth" }.kill.join
      3.times { collect_garbage }
      begin
        Godwit::ROUTER.bind("inproc://zeromq.zap.01")
        abort "the endpoint is free"
      rescue Godwit::AddressInUseError
        nil
      end
    RUBY
  end

  test "an Auth lives in the main Ractor" do
    skip "this Ruby has no Ractors" unless defined?(Ractor)
    assert_match(/main Ractor only/, assert_child(run_child(<<~RUBY)).stdout)
      $VERBOSE = nil
      require "godwit"
      Godwit::Auth
      begin
        Ractor.new { Godwit::Auth.new }.take
      rescue Ractor::RemoteError => error
        puts error.cause.message
      end
    RUBY
  end

  test "the mechanisms load from a folder with brackets in its name" do
    folder = "#{scratch_dir}/app [1]"
    FileUtils.cp_r("#{__dir__}/../../lib/godwit/auth", folder)
    result = assert_child(run_child(<<~'RUBY', [folder]))
      require "godwit"
      Godwit::Auth.send(:remove_const, :MECHANISMS)
      Godwit::Auth.send(:remove_const, :Mechanism)
      load "#{ARGV.fetch(0)}/mechanism.rb"
      print Godwit::Auth.class_eval("MECHANISMS").keys.sort.join(" ")
    RUBY
    assert_equal "CURVE NULL PLAIN", result.stdout
  end
end
