# frozen_string_literal: true

require "test_helper"
require_relative "made_records"

# Answers from a broadcaster's control endpoint, and which clients get them.
class LoggerControlTest < Godwit::TestCase
  include MadeRecords

  def setup
    super
    any = "tcp://127.0.0.1:*"
    options = {control: any, last: 100, context: context}
    @relay = own(Godwit::Logger::Broadcaster.new(any, nil, **options)).start
    push = open_socket(:PUSH).connect(@relay.input.first)
    1.upto(20) do |i|
      prog = i.even? ? "billing" : "cards"
      push.send(frames(i, level: i % 6, prog: prog, host: "wéb", text: "text #{i} é"))
    end
    push.send(line("refused"))
    # The broadcaster counts a record before it sends the record.
    eventually { @relay.statistics.values_at("messages", "sent") == [21, 21] }
  end

  def control(**options)
    own(Godwit::Logger::Control.new(@relay.control.first, context: context, **options))
  end

  test "statistics come as the broadcaster has them" do
    ours, theirs = @relay.statistics, control.statistics
    assert_equal ours.except("uptime", "accounts"), theirs.except("uptime", "accounts")
    assert_equal [20, 1, 0], theirs.values_at("records", "plain", "lost")
    assert_equal ["wéb"], theirs["accounts"].map { |account| account["host"] }
    assert_equal [0, 1],
      [0, 1 << 80].map { |count| @relay.statistics(writers: count)["accounts"].size }
  end

  test "the last records are returned whole, with the chosen filter" do
    one = control
    assert_equal [*1..20, nil], one.last(1_000).map(&:seq)
    assert_equal ["text 20 é", "refused"], one.last(2).map(&:text)
    assert_equal [4, 10, 16], one.last(level: 4, prog: "billing").map(&:seq)
    assert_equal [11, 15, 17, nil], one.last(4, level: "error+", prog: %w[cards old]).map(&:seq)
    assert_equal [20], one.last(1, host: "wéb").map(&:seq)
    assert_empty one.last(10, tag: "req-9")
    assert_equal "invalid log level: foo",
      assert_raises(ArgumentError) { one.last(1, level: "foo") }.message
  end

  # wire_test.rb tests valid questions.
  test "bad questions get an error, and the next question its answer" do
    deep = "#{"[" * 50}#{"]" * 50}"
    dealer = open_socket(:DEALER).connect(@relay.control.first)
    ["", "{", "\xff\xfe", "[]", "1", "null", deep, '{"ask":"shutdown"}', "{}",
      '{"ask":"last","n":-1}', '{"ask":"last","n":"x"}', '{"ask":"last","n":1e99}',
      '{"ask":"last","level":"foo"}', '{"ask":"last","prog":{"a":1}}',
      '{"ask":"last","tag":[[1]]}', '{"ask":"last","host":true}'].each do |question|
      answer = dealer.send(question).recv_multipart(timeout: 5)
      assert_equal 1, answer.size
      assert_kind_of String, JSON.parse(answer.first)["error"], question
    end
    answer = dealer.send(%w[a b c]).recv_multipart(timeout: 5)
    assert_equal({"error" => "a question is one frame"}, JSON.parse(answer.last))
    assert_equal 21, control.statistics["messages"]
  end

  test "a question that is too long costs only its own connection" do
    one = control
    one.statistics
    socket = open_socket(:DEALER, linger: 0).connect(@relay.control.first)
    socket.send("x" * 100_000)
    assert_nil socket.recv(timeout: 0.1, exception: false)
    assert_equal 21, one.statistics["messages"]
  end

  test "a stopped or busy broadcaster answers and obeys" do
    @relay.stop.wait(5)
    assert_equal false, control.statistics["running"]
    @relay.start
    askers = Array.new(4) { in_thread { one = control and Array.new(20) { one.last(5).size } } }
    assert_equal [5] * 80, askers.flat_map(&:value)
  end

  test "a broadcaster that does not answer, and a peer that is none, are reported" do
    silent = open_socket(:ROUTER).bind(endpoint_for(:tcp))
    one = own(Godwit::Logger::Control.new(silent.last_endpoint, timeout: 0.05, context: context))
    assert_raises(Godwit::TimeoutError) { one.statistics }
    other = open_socket(:REP).bind(endpoint_for(:tcp))
    answers = [
      "hello", "[]", '{"error":"no"}', '{"frames":[9]}', "{}", '{"frames":"x"}',
      ['{"frames":[0,1]}', "x"]
    ]
    in_thread { answers.cycle { |answer| other.recv && other.send(answer) } }
    two = own(Godwit::Logger::Control.new(other.last_endpoint, context: context))
    answers.each do |answer|
      error = assert_raises(Godwit::StateError, answer.inspect) { two.last }
      assert_includes error.message, "the broadcaster said"
    end
    two.close
    assert_predicate two, :closed?
    assert_raises(Godwit::ClosedError) { two.statistics }
    assert_raises(Godwit::EndpointError) { Godwit::Logger::Control.new("foo") }
    assert_raises(Godwit::ArgumentValueError) do
      Godwit::Logger::Control.new("ipc://x", timeout: -1)
    end
  end
end
