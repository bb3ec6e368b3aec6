# frozen_string_literal: true

require_relative "../test_helper"
require_relative "made_records"

# The records that a Filter accepts. test/cli/log_test.rb filters by level, program, host and tag.
class LoggerFilterTest < Godwit::TestCase
  include MadeRecords

  Filter = Godwit::Logger::Filter
  Record = Godwit::Logger::Record

  def record(text = "card refused", **header) = super

  def fits?(record = self.record, **choice) = Filter.new(**choice).fits?(record)

  PLAIN = "E, [2026-11-20T12:31:07.123456 #4242] ERROR -- billing: card refused\n"

  test "grep looks at tags, text and payload: any must match; exclude: none may match" do
    one = record(tags: ["req-9", 7], payload: {user: 42})
    [{grep: /refused/}, {grep: /req-9/}, {grep: /user=42/}, {grep: /\A\[req/}, {tag: "7"},
      {grep: [/nope/, /card/]}, {grep: /card/, exclude: /nope/},
      {grep: ["[re", /nope/]}].each { |choice| assert fits?(one, **choice), choice.inspect }
    [{grep: /billing/}, {grep: /web1/}, {grep: /Refused/}, {grep: "c.rd"}, {grep: "cards"},
      {exclude: /user=42/}, {exclude: [/nope/, /card/]}, {exclude: "card"}, {tag: "req"},
      {grep: /card/, exclude: /refused/}].each do |choice|
      refute fits?(one, **choice), choice.inspect
    end
  end

  test "records without tags, with other bytes, with escaped names; plain lines" do
    refute fits?(record, tag: "req-9")
    assert fits?(record("bad \xff byte"), grep: /byte/)
    assert fits?(record(prog: "a.b"), prog: "a.b")
    assert fits?(Record.parse("a plain line"))
    line = Record.parse(PLAIN.b)
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
    assert_raises(ArgumentError) { Filter.new(level: "foo") }
    error = assert_raises(Godwit::ArgumentTypeError) { Filter.new(grep: [/a/, 5]) }
    assert_match(/grep: takes a Regexp or a String/, error.message)
  end
end
