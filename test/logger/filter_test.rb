# frozen_string_literal: true

require_relative "../test_helper"
require "godwit/logger"

# Godwit::Logger::Filter: which records.
class LoggerFilterTest < Godwit::TestCase
  Filter = Godwit::Logger::Filter
  Record = Godwit::Logger::Record

  def record(text = "card refused", level: "ERROR", prog: "billing", host: "web1", **header)
    header = {v: 1, writer: "ab" * 16, seq: 7, tseq: 3, t_ns: 1, **header}
    Record.parse(["#{level}.#{prog}.#{host}.".b, JSON.generate(header).b, text.b])
  end

  def fits?(record = self.record, **choice) = Filter.new(**choice).fits?(record)

  test "nothing chosen is everything" do
    assert fits?
    assert fits?(Record.parse("a plain line"))
    assert fits?(level: nil, prog: nil, host: nil, tag: nil, grep: nil, exclude: nil)
  end

  test "levels: single, and above, several" do
    assert fits?(level: "error")
    assert fits?(level: "warn+")
    assert fits?(level: ["debug", :error])
    refute fits?(level: "fatal+")
    refute fits?(level: "debug,warn")
    assert_raises(ArgumentError) { Filter.new(level: "foo") }
  end

  test "program and host: exact match, any of several" do
    assert fits?(prog: "billing", host: %w[web2 web1])
    refute fits?(prog: "bill")
    refute fits?(prog: "billing2")
    refute fits?(host: "web")
    refute fits?(prog: "billing", host: "web2")
    assert fits?(record(prog: "a%2Eb"), prog: "a.b")
  end

  test "a tag matches any of the record's tags" do
    tagged = record(tags: ["req-9", 7])
    assert fits?(tagged, tag: "req-9")
    assert fits?(tagged, tag: %w[x 7])
    refute fits?(tagged, tag: "req")
    refute fits?(tag: "req-9")
  end

  test "grep looks at tags, text and payload: any must match; exclude: none may match" do
    one = record(tags: ["req-9"], payload: {user: 42})
    [/refused/, /req-9/, /user=42/, /\A\[req/, [/nope/, /card/]].each do |pattern|
      assert fits?(one, grep: pattern), pattern.inspect
    end
    [/billing/, /web1/, /Refused/].each do |pattern|
      refute fits?(one, grep: pattern), pattern.inspect
    end
    refute fits?(one, exclude: /user=42/)
    refute fits?(one, exclude: [/nope/, /card/])
    refute fits?(one, grep: /card/, exclude: /refused/)
    assert fits?(one, grep: /card/, exclude: /nope/)
    assert fits?(record("bad \xff byte"), grep: /byte/)
    assert fits?(record("a [req"), grep: ["a [re", /nope/])
    refute fits?(record("a"), exclude: "a") || fits?(record("card"), grep: "c.rd") ||
      fits?(record("card"), grep: "cards")
    error = assert_raises(Godwit::ArgumentTypeError) { Filter.new(grep: [/a/, 5]) }
    assert_match(/grep: takes a Regexp or a String/, error.message)
  end

  test "plain lines: the fields that filters read" do
    line = Record.parse("E, [2026-11-20T12:31:07.123456 #4242] ERROR -- billing: card refused\n".b)
    assert fits?(line, level: "error+", prog: "billing", grep: /refused/)
    refute fits?(line, host: "web1")
    refute fits?(line, level: "warn")
  end

  test "a filter is frozen, holds copies, and can replace a block or a pattern" do
    prog = +"billing"
    filter = Filter.new(prog: prog)
    prog << "2"
    assert_equal [true, false], [record, record(prog: "shop")].map(&filter)
    assert_predicate filter, :frozen?
    assert_operator filter, :===, record
    assert_equal [/a/], Filter.new(grep: /a/).grep
  end
end
