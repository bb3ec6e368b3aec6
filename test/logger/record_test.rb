# frozen_string_literal: true

require "test_helper"
require "stringio"
require_relative "made_records"

# One record as a reader sees it, and the meaning of topics and levels.
class LoggerRecordTest < Godwit::TestCase
  include MadeRecords

  Record = Godwit::Logger::Record
  Levels = Godwit::Logger.const_get(:Levels)
  Topic = TOPIC

  test "all of a header" do
    error = {class: "KeyError", message: "key not found", backtrace: ["a.rb:1"], causes: []}
    record =
      Record.parse(
        frames(
          7,
          tseq: 3,
          level: 3,
          thread: 12,
          tags: %w[a b],
          payload: {
            user: 42
          },
          error: error,
          text: "é"
        )
      )
    assert_equal [7, 3, 3, "ERROR", "billing", "web1", 4242, 12, %w[a b], {"user" => 42}, "é"],
      [
        record.seq, record.tseq, record.level, record.label, record.prog, record.host,
        record.pid, record.thread, record.tags, record.payload, record.text
      ]
    assert_equal "KeyError", record.error["class"]
    assert_equal record.t_ns, record.time.to_i * 1_000_000_000 + record.time.nsec
    assert_equal record.data["mono_ns"], record.mono_ns
    assert_equal record.data.merge("text" => "é"), JSON.parse(record.to_json)
    assert_equal %w[
      v writer seq tseq t_ns mono_ns level pid host prog thread tags payload error text
    ],
      record.to_h.keys
    assert_match(/#{WRITER}:7 ERROR "billing" "é"/o, record.inspect)
    refute_predicate record, :plain?
  end

  test "a missing field is nil, or empty" do
    record =
      Record.parse(["INFO...", %({"v":1,"writer":"#{WRITER}","seq":1,"tseq":1,"t_ns":1}), ""])
    assert_equal ["", "", nil, nil, nil, [], nil, nil, ""],
      [
        record.prog, record.host, record.pid, record.thread, record.mono_ns, record.tags,
        record.payload, record.error, record.text
      ]
    record =
      Record.parse(
        [
          "INFO...",
          %({"v":1,"writer":"#{WRITER}","seq":1,"tseq":1,"t_ns":1,"tags":{},"error":7,"pid":"x"}),
          ""
        ]
      )
    assert_equal [[], nil, nil], [record.tags, record.error, record.pid]
  end

  test "another writer may have its keys in another order" do
    record =
      Record.parse(
        ["INFO.a.b.", %({"t_ns":5, "seq": 12, "tseq": 3, "writer": "me", "tags": ["x"]}), "text"]
      )
    assert_equal ["me", 12, 3, 5, ["x"]],
      [record.writer, record.seq, record.tseq, record.t_ns, record.tags]
    [
      '{"writer":"me","seq":12,"tseq":3}', '{"writer":"me","seq":"12","tseq":3,"t_ns":5}',
      '{"writer":"me","seq":-1,"tseq":3,"t_ns":5}', '{"writer":7,"seq":1,"tseq":1,"t_ns":1}', "[]",
      "1", "{", "", "[" * 200
    ].each { |header| assert_nil Record.parse(["INFO.a.b.", header, "text"]), header }
  end

  test "a header that breaks off behind its head is read up to there" do
    record =
      Record.parse(
        ["INFO.a.b.", %({"v":1,"writer":"#{WRITER}","seq":7,"tseq":3,"t_ns":5,"mono), "text"]
      )
    assert_equal [7, 3, 5, nil, [], {}],
      [record.seq, record.tseq, record.t_ns, record.pid, record.tags, record.data]
  end

  test "bytes that are no UTF-8 are replaced" do
    record =
      Record.parse(
        [
          "INFO.a\xff.b.".b,
          %({"v":1,"writer":"#{WRITER}","seq":1,"tseq":1,"t_ns":1,"tags":["\xff"]}).b, "x\xffy".b
        ]
      )
    assert_equal ["a\u{fffd}", ["\u{fffd}"], "x\u{fffd}y"], [record.prog, record.tags, record.text]
    assert_predicate record.to_s, :valid_encoding?
    assert_nil Record.parse(["INFO.a.b.", "\xff", "x"])
    assert_nil Record.parse(["\xff", "{}", "x"])
    utf8 =
      Record.parse(
        ["INFO.é.b.", %({"v":1,"writer":"#{WRITER}","seq":9,"tseq":8,"t_ns":1,"prog":"é"}), "\xff"]
      )
    assert_equal [9, 8, "é", "é", "\u{fffd}"],
      [utf8.seq, utf8.tseq, utf8.prog, utf8.data["prog"], utf8.text]
  end

  test "a record's line is that of Ruby's Logger" do
    record =
      Record.parse(frames(1, level: 2, prog: "billing", pid: Process.pid, text: "card refused"))
    io = StringIO.new
    logger = ::Logger.new(io, progname: "billing")
    logger.warn("card refused")
    plain = Record.parse(io.string)
    assert_equal io.string.sub(/\d{4}-[^ ]+/, "T"), record.to_s.sub(/\d{4}-[^ ]+/, "T")
    assert_equal record.time.strftime("%Y-%m-%dT%H:%M:%S.%6N"), record.to_s[/\d{4}-[^ ]+/]
    assert_equal [true, 2, "WARN", "billing", "card refused", Process.pid, nil, nil, nil],
      [
        plain.plain?, plain.level, plain.label, plain.prog, plain.text, plain.pid,
        plain.seq, plain.writer, plain.host
      ]
    assert_in_delta Time.now.to_f, plain.time.to_f, 60
    assert_equal io.string, plain.to_s
    assert_equal(
      {
        "plain" => true, "level" => 2, "prog" => "billing", "pid" => Process.pid,
        "text" => "card refused"
      },
      plain.to_h
    )
  end

  test "a line of another form is its text" do
    ["just text\n", "", "E, not quite", "\xff\x00",
      "E, [2026-99-21T19:52:01.123456 #1] ERROR -- : bad day"].each do |text|
      record = Record.parse(text.b)
      assert_predicate record, :plain?
      assert record.to_s.end_with?("\n")
      assert_nil record.time
      assert_equal [[], {}, [text.b]], [record.tags, record.data, record.frames]
    end
    assert_equal [5, nil], Record.parse("just text").then { |record| [record.level, record.prog] }
    assert_equal ["two\nlines", ""],
      Record
        .parse(["I, [2026-11-21T19:52:01.123456 #1]  INFO -- : two\nlines\n"])
        .then { |record| [record.text, record.prog] }
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
