# frozen_string_literal: true

require "test_helper"
require "stringio"
require_relative "made_records"

# One record as a reader sees it, and the meaning of topics and levels. wire_test.rb tests each
# field.
class LoggerRecordTest < Godwit::TestCase
  include MadeRecords

  Record = Godwit::Logger::Record
  Levels = Godwit::Logger.const_get(:Levels)
  Topic = TOPIC

  # @param more [String] the end of the header's JSON text, after the required fields
  # @return [Godwit::Logger::Record]
  def parsed(topic: "INFO...", seq: 1, more: "}", text: "")
    Record.parse(
      [topic, %({"v":1,"writer":"#{WRITER}","seq":#{seq},"tseq":3,"t_ns":5#{more}), text]
    )
  end

  test "a record as a Hash, as JSON, and its time" do
    record = Record.parse(frames(7, level: 3, tags: %w[a b], payload: {user: 42}, text: "é"))
    assert_equal record.t_ns, record.time.to_i * 1_000_000_000 + record.time.nsec
    assert_equal record.data.merge("text" => "é"), JSON.parse(record.to_json)
    assert_equal %w[v writer seq tseq t_ns mono_ns level pid host prog tags payload text],
      record.to_h.keys
    assert_match(/#{WRITER}:7 ERROR "billing" "é"/o, record.inspect)
  end

  test "a field of another type is nil, or empty" do
    record = parsed(more: ',"tags":{},"error":7,"pid":"x","mono_ns":"1"}')
    assert_equal [[], nil, nil, nil], [record.tags, record.error, record.pid, record.mono_ns]
  end

  test "a header that breaks off behind its start is read up to there" do
    record = parsed(seq: 7, more: ',"mono', text: "text")
    assert_equal [7, 3, 5, nil, [], {}],
      [record.seq, record.tseq, record.t_ns, record.pid, record.tags, record.data]
  end

  test "bytes that are no UTF-8 are replaced" do
    record = parsed(topic: "INFO.a\xff.b.".b, more: %(,"tags":["\xff"]}).b, text: "x\xffy".b)
    assert_equal ["a\u{fffd}", ["\u{fffd}"], "x\u{fffd}y"], [record.prog, record.tags, record.text]
    assert_predicate record.to_s, :valid_encoding?
    assert_nil Record.parse(["INFO.a.b.", "\xff", "x"])
    assert_nil Record.parse(["\xff", "{}", "x"])
    utf8 = parsed(topic: "INFO.é.b.", seq: 9, more: ',"prog":"é"}', text: "\xff")
    assert_equal [9, 3, "é", "é", "\u{fffd}"],
      [utf8.seq, utf8.tseq, utf8.prog, utf8.data["prog"], utf8.text]
  end

  test "a line of another form is its text" do
    ["just text\n", "", "E, not quite", "\xff\x00",
      "E, [2026-99-21T19:52:01.123456 #1] ERROR -- : bad day"].each do |text|
      record = Record.parse(text.b)
      assert record.to_s.end_with?("\n")
      assert_equal [nil, [], {}, [text.b]],
        [record.time, record.tags, record.data, record.frames], text.inspect
    end
    record = Record.parse(["I, [2026-11-21T19:52:01.123456 #1]  INFO -- : two\nlines\n"])
    assert_equal ["two\nlines", ""], [record.text, record.prog]
    assert_equal({"plain" => true, "level" => 2, "prog" => "p", "pid" => 7, "text" => "x"},
      Record.parse("W, [2026-11-21T19:52:01.123456 #7]  WARN -- p: x\n").to_h)
  end

  test "a topic memory caches topics, up to a limit" do
    memory = Topic.memory(10)
    25.times { |i| assert_equal ["INFO", "p#{i}", "h", 1], memory["INFO.p#{i}.h."].to_a }
    assert_nil memory["none of ours"]
    assert_operator memory.size, :<=, 10
    assert memory["INFO.p.h."].frozen?
  end

  test "topics: any name comes back, and no prefix takes another's" do
    ["billing", "", "a.b", "100%", "%2E", "é", "a.b%.c%25"].repeated_permutation(2) do |prog, host|
      topic = Topic.build(3, prog, host)
      assert_equal ["ERROR", prog, host, 3], Topic.parse(topic).to_a
      assert_equal 3, topic.count(".")
    end
    wanted = Topic.subscriptions(levels: [3], progs: ["billing"]).first
    refute Topic.build(3, "billing2", "a").start_with?(wanted)
    assert Topic.build(3, "billing", "a").start_with?(wanted)
    assert_equal [""], Topic.subscriptions
    assert_equal ["INFO.", "I, ["], Topic.subscriptions(levels: [1])
    assert_equal 12, Topic.subscriptions(progs: ["a.b"]).size
    assert_includes Topic.subscriptions(progs: ["a.b"]), "ANY.a%2Eb."
  end

  test "levels in the forms of a command line" do
    {"error+" => [3, 4, 5], "warn" => [2], "debug, error+" => [0, 3, 4, 5], :info => [1], 2 => [2],
     9 => [5], -3 => [0], ["fatal", 0] => [0, 4], "UNKNOWN" => [5],
     "any" => [5]}.each do |given, levels|
      assert_equal levels, Levels.choose(given), given.inspect
    end
    ["foo", "", "error++", "error,", [], "err or"].each do |given|
      assert_raises(ArgumentError, given.inspect) { Levels.choose(given) }
    end
    assert_equal %w[DEBUG ANY ANY ANY], [0, 5, 6, -1].map { |number| Levels.label(number) }
  end
end
