# frozen_string_literal: true

require "test_helper"
require_relative "../conformance/assertions"
require_relative "../conformance/authenticated"

# Malformed ZAP requests. The Auth refuses each with status 400, and then serves the next one.
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
  LARGE = "x" * (1 << 20)
  ADDRESSED = GOOD.first(5).freeze

  REFUSED = {
    "versions" => ["", "0.9", "1", "1.0 ", "2.0", "\xff", "1.0\0", "x" * 1_000]
      .map { |version| [version, *GOOD.drop(1)] },
    "numbers of frames" =>
      [*(0..5).map { |count| GOOD.first(count) }, *[1, 2, 100].map { |more| GOOD + ["x"] * more }],
    "credentials" => {
      "PLAIN" => [[], ["anna"], %w[anna secret x]],
      "CURVE" => [[], [KEY, KEY], [""], ["k" * 31], ["k" * 33], ["k" * 40]],
      "GSSAPI" => [[], ["principal"]]
    }.flat_map { |name, all| all.map { |credentials| [*ADDRESSED, name, *credentials] } },
    "mechanisms" => ["", "null", "NULL\0", "PLAIN ", "XXX", "\xff", "C" * 100_000]
      .map { |mechanism| [*ADDRESSED, mechanism] },
    "large frames" => [
      *[[LARGE, "secret"], ["anna", LARGE], [LARGE, LARGE]]
        .map { |credentials| [*ADDRESSED, "PLAIN", *credentials] },
      [*ADDRESSED, "CURVE", LARGE], ["1.0", LARGE, *GOOD.drop(2)],
      ["1.0", "7", LARGE, *GOOD.drop(3)]
    ]
  }.freeze

  # Asserts that the Auth refuses these frames, and grants a valid request afterwards.
  def assert_refused(*frames, **options)
    assert_equal 400, status(*frames, **options), frames.inspect[0, 200]
    assert_equal 200, status(*GOOD)
  end

  def setup
    super
    auth.curve(keys: :any).plain(users: {"anna" => "secret"})
  end

  REFUSED.each do |what, requests|
    test "wrong #{what}" do
      requests.each { |frames| assert_refused(*frames) }
      assert_equal 400, decision_of(400).status
    end
  end

  def test_messages_without_an_empty_frame_in_front
    [[], ["x"]].each { |delimiter| assert_refused(*GOOD, delimiter: delimiter) }
    raw = open_socket(:DEALER).connect(ZAP)
    ["", "x"].each do |frame|
      raw.send(frame)
      assert_equal "400", raw.recv_multipart(timeout: PATIENCE)[3]
    end
  end

  def test_a_large_address_is_no_address
    addressed = [*GOOD.first(3), LARGE, *GOOD.last(2)]
    assert_equal 200, status(*addressed)
    auth.allow("10.0.0.0/8")
    assert_equal 400, status(*addressed)
  end

  def test_decisions_about_malformed_requests_are_short_and_clean
    status("1.0", "7", "\e[31m\u202E\xff", "x" * 5_000, "", "M" * 5_000)
    found = decision_of(400)
    assert_operator found.to_s.size, :<, 3_000
    refute_match(/[[:cntrl:]\u202E]/, found.to_s)
    assert_predicate found.to_s, :valid_encoding?
  end
end
