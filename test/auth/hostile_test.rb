# frozen_string_literal: true

require "test_helper"
require_relative "../conformance/assertions"
require_relative "../conformance/authenticated"

# Hostile requests. Each gets the right status, and the Auth goes on.
class AuthHostileTest < Godwit::TestCase
  include Conformance::Assertions
  include Conformance::Authenticated

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
end
