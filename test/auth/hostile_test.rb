# frozen_string_literal: true

require "test_helper"
require_relative "../conformance/assertions"
require_relative "../conformance/authenticated"
require_relative "server_process"

# Hostile requests and hostile blocks. Legitimate clients are served all the while, and bad ones get
# the right status.
class AuthHostileTest < Godwit::TestCase
  include Conformance::Assertions
  include Conformance::Authenticated
  include AuthServerProcess

  # @return [Integer, nil] the status of the reply to these frames
  def status(*frames, delimiter: [""])
    @dealer ||= open_socket(:DEALER).connect(ZAP)
    @dealer.send([*delimiter, *frames])
    _, version, _, status, _, user_id, metadata = @dealer.recv_multipart(timeout: PATIENCE)
    assert_equal ["1.0", "", ""], [version, user_id, metadata]
    Integer(status)
  end

  GOOD = ["1.0", "7", "", "127.0.0.1", "", "NULL"].freeze
  KEY = "k" * 32

  # A good request after each bad one shows that the Auth goes on.
  def assert_refused(*frames, **options)
    assert_equal 400, status(*frames, **options), frames.inspect[0, 200]
    assert_equal 200, status(*GOOD)
  end

  def setup
    super
    auth.curve(keys: :any).plain(users: {"anna" => "secret"})
  end

  def test_wrong_versions
    ["", "0.9", "1", "1.0 ", "2.0", "\xff", "1.0\0", "x" * 1_000].each do |version|
      assert_refused(version, *GOOD.drop(1))
    end
  end

  def test_wrong_frame_counts
    (0..5).each { |count| assert_refused(*GOOD.first(count)) }
    [1, 2, 100].each { |more| assert_refused(*GOOD, *Array.new(more, "x")) }
    plain = [*GOOD.first(5), "PLAIN"]
    [[], ["anna"], %w[anna secret x]].each { |credentials| assert_refused(*plain, *credentials) }
    curve = [*GOOD.first(5), "CURVE"]
    [[], [KEY, KEY], [""], ["k" * 31], ["k" * 33], ["k" * 40]].each do |credentials|
      assert_refused(*curve, *credentials)
    end
  end

  def test_messages_without_an_empty_frame_in_front
    [[], ["x"]].each { |delimiter| assert_refused(*GOOD, delimiter: delimiter) }
    raw = open_socket(:DEALER).connect(ZAP)
    raw.send("")
    assert_equal "400", raw.recv_multipart(timeout: PATIENCE)[3]
    raw.send("x")
    assert_equal "400", raw.recv_multipart(timeout: PATIENCE)[3]
  end

  def test_wrong_mechanisms
    ["", "null", "NULL\0", "PLAIN ", "XXX", "\xff", "C" * 100_000].each do |mechanism|
      assert_refused(*GOOD.first(5), mechanism)
    end
    assert_refused(*GOOD.first(5), "GSSAPI", "principal")
    assert_refused(*GOOD.first(5), "GSSAPI")
    assert_equal 400, decision_of(400).status
  end

  def test_large_parts
    large = "x" * (1 << 20)
    [[large, "secret"], ["anna", large], [large, large]].each do |credentials|
      assert_refused(*GOOD.first(5), "PLAIN", *credentials)
    end
    assert_refused(*GOOD.first(5), "CURVE", large)
    assert_refused("1.0", large, *GOOD.drop(2))
    assert_refused("1.0", "7", large, *GOOD.drop(3))
    assert_equal 200, status(*GOOD.first(3), large, "", "NULL"), "an odd address is no address"
    auth.allow("10.0.0.0/8")
    assert_equal 400, status(*GOOD.first(3), large, "", "NULL")
  end

  def test_decisions_about_malformed_requests_are_short_and_clean
    status("1.0", "7", "\e[31m\u202E\xff", "x" * 5_000, "", "M" * 5_000)
    found = decision_of(400)
    assert_operator found.to_s.size, :<, 3_000
    refute_match(/[[:cntrl:]\u202E]/, found.to_s)
    assert_predicate found.to_s, :valid_encoding?
  end

  test "hostile blocks: they raise, sleep and are killed while others are served" do
    result = assert_server(<<~RUBY)
      GUARD.curve(keys: {"anna" => ANNA.public_key})
      GUARD.plain do |name, _, _|
        case name
        when "raise" then raise "no"
        when "sleep" then sleep(0.5)
        when "kill" then Thread.current.kill
        else name
        end
      end
      curve = serve(curve: KEYS)
      plain = serve(plain_server: true)
      20.times { served(curve) }
      client(plain, plain: %w[otto x]).tap { |req| req.send("x").recv(timeout: HANG) }.close
      STATUS.clear
      reasons = Queue.new
      GUARD.on_decision do |one|
        STATUS << [one.mechanism, one.status]
        reasons << one.reason
      end
      before = facts
      bad = %w[raise kill sleep].flat_map { |name|
        Array.new(5) { client(plain, plain: [name, "x"]) }
      }
      30.times { served(curve) }
      statuses = Array.new(40) { STATUS.pop }
      abort statuses.inspect unless statuses.to_h { |one| [one, 1] }.keys.sort ==
        [["CURVE", 200], ["PLAIN", 300]]
      # The refused clients come again. A decision follows the warning about its block.
      awaited = ["its block raised RuntimeError", "its block ended its thread"]
      awaited.delete(reasons.pop) until awaited.empty?
      bad.each(&:close)
      back_to(before)
    RUBY
    assert_match(/raised .*no \(RuntimeError\)/, result.stderr)
    assert_match(/ended its thread/, result.stderr)
  end

  test "hostile requests: memory, descriptors and threads return to their level" do
    assert_server(<<~RUBY)
      GUARD.curve(keys: {"anna" => ANNA.public_key})
      rep = serve(curve: KEYS)
      20.times { served(rep) }
      hostile = lambda do
        zap = Godwit::DEALER.connect("inproc://zeromq.zap.01", linger: 0)
        large = "x" * (1 << 20)
        40.times do |round|
          zap.send(["", "1.0", "7", "", "127.0.0.1", "", "PLAIN", large, large])
          zap.send(["", *Array.new(round, "x")])
          2.times { abort "no refusal" unless zap.recv(timeout: HANG)[3] == "400" }
        end
        zap.close
      end
      hostile.call
      before = facts
      4.times do
        hostile.call
        served(rep)
      end
      back_to(before, slack: 3_000) # one large frame kept by each call exceeds it
    RUBY
  end
end
