# frozen_string_literal: true

require "test_helper"
require "godwit/logger"
require "godwit/logger/serving/statistics" # Godwit with its extension does not load this file
require_relative "made_records"

# The statistics of a broadcaster's messages. The same tests run with the class of the extension and
# with the class in Ruby.
class LoggerStatisticsTest < Godwit::TestCase
  include MadeRecords

  KINDS = [
    Godwit::Logger::Broadcaster.const_get(:STATISTICS), Godwit::Logger.const_get(:Statistics)
  ].uniq

  def self.each_kind(name, &block)
    KINDS.each { |kind| test("#{kind}: #{name}") { instance_exec(kind, &block) } }
  end

  # Returns the numbers of the statistics by their names.
  class Named
    NAMES = %i[messages bytes records plain foreign lost late writers forgotten kept].freeze
    FIELDS = %i[writer prog host first last received lost late bytes lag longest_lag idle].freeze

    # @param parsed [Boolean] whether the statistics get each message's Header
    def initialize(kind, most: 100, bytes: 100_000, writers: 1_000, parsed: false)
      @statistics = kind.new.open(most, bytes, writers)
      @parsed = parsed
    end

    def record(*messages)
      messages.map { |message| Array(message) }.each do |frames|
        next @statistics.record(frames) unless @parsed
        @statistics.record(frames, Godwit::Logger::Record.parse(frames)&.header)
      end
    end

    def totals = NAMES.zip(@statistics.totals).to_h

    def levels = @statistics.totals.last(6)

    def messages(most = 1_000_000) = @statistics.messages(most)

    def writers(most = 1_000_000)
      @statistics.writers(most)
        .map { |values| FIELDS.zip(values).to_h.merge(levels: values.last(6)) }
    end
  end

  each_kind "statistics per writer: gaps, late records, levels, bytes" do |kind|
    statistics = Named.new(kind)
    sent = [frames(5), frames(6, level: 3), frames(9, level: 3), frames(9), frames(7)]
    statistics.record(*sent, frames(1, writer: writer(0xab), prog: "a.b%", host: "x" * 100))
    other, account = statistics.writers
    wanted = {
      writer: WRITER, prog: "billing", host: "web1", first: 5, last: 9, received: 4, lost: 1,
      late: 2, bytes: sent.flatten.sum(&:bytesize), levels: [0, 3, 0, 2, 0, 0]
    }
    assert_equal wanted, account.except(:lag, :longest_lag, :idle)
    assert_equal [writer(0xab), "a%2Eb%25", "x" * 63, 1],
      other.values_at(:writer, :prog, :host, :received)
    assert account[:lag].between?(0, 60_000_000_000)
    assert_operator account[:longest_lag], :>=, account[:lag]
    assert account[:idle].between?(0, 60_000)
    wanted = {
      messages: 6, records: 6, plain: 0, foreign: 0, lost: 1, late: 2, writers: 2, forgotten: 0,
      kept: 6
    }
    assert_equal wanted, statistics.totals.except(:bytes)
    assert_equal [other.except(:idle)], statistics.writers(1).map { |one| one.except(:idle) }
  end

  each_kind "lines of plain writers and foreign messages are distinguished" do |kind|
    statistics = Named.new(kind)
    statistics.record(*foreign, line("refused"), "D, [", "", "E", "text", line("x", level: "WARN"))
    assert_equal [foreign.size, 6, 0, 0],
      statistics.totals.values_at(:foreign, :plain, :records, :writers)
    assert_equal [1, 0, 1, 1, 0, 3], statistics.levels
    assert_equal ["refused", "D, [", "", "E", "text", "x"],
      statistics.messages.map { |message| Godwit::Logger::Record.parse(message).text }
  end

  each_kind "the kept messages are the newest, whole, in order, within the bounds" do |kind|
    random = Random.new(7)
    [[10, 1 << 20], [1_000, 20_000], [50, 4_000]].each do |most, bytes|
      statistics = Named.new(kind, most: most, bytes: bytes)
      sent = Array.new(700) do |i|
        next line("#{i} #{"x" * random.rand(300)}") if i % 7 == 3
        frames(i + 1, text: random.bytes(random.rand(600)))
      end
      sent.each_with_index do |message, index|
        statistics.record(message)
        next unless (index % 50).zero? || index == 699
        kept = statistics.messages
        assert_equal(sent[0..index].last(kept.size).map { |one| Array(one).map(&:b) }, kept)
        assert_equal kept.last(3), statistics.messages(3)
        assert_equal kept.size, statistics.totals[:kept]
        assert_operator kept.flatten.sum(&:bytesize), :<=, bytes
        assert_operator kept.size, :<=, most
      end
      fill = statistics.messages.flatten.sum(&:bytesize)
      assert statistics.messages.size == most || fill > bytes / 2,
        "#{fill} of #{bytes} bytes are used"
    end
  end

  each_kind "a message that would fill a quarter is not kept, and most: 0 keeps none at " \
    "all" do |kind|
    statistics = Named.new(kind, bytes: 4_000)
    statistics.record(frames(1), frames(2, text: "x" * 4_000), "x" * 10_000)
    assert_equal [[frames(1).last], 3],
      [statistics.messages.map(&:last), statistics.totals[:messages]]
    none = Named.new(kind, most: 0)
    none.record(frames(1), "line")
    assert_equal [[], 2, 1], [none.messages, none.totals[:messages], none.writers.size]
  end

  each_kind "of many writers the idle ones are forgotten, the totals not" do |kind|
    statistics = Named.new(kind, writers: 300)
    1.upto(300) do |i|
      statistics.record(frames(1, writer: writer(i)), frames(3, writer: writer(i)))
    end
    statistics.record(frames(4, writer: writer(1))) # writer 1 is now the last to send
    301.upto(400) { |i| statistics.record(frames(1, writer: writer(i))) }
    assert_equal [300, 100, 701, 300],
      statistics.totals.values_at(:writers, :forgotten, :records, :lost)
    assert_equal [*400.downto(301), 1, *300.downto(102)].map { |i| writer(i) },
      statistics.writers.map { |account| account[:writer] }
    statistics.record(frames(9, writer: writer(2)))
    assert_equal [writer(2), 9, 1, 0],
      statistics.writers(1).first.values_at(:writer, :first, :received, :lost)
  end

  each_kind "statistics and a reader report the same for the same messages" do |kind|
    statistics = Named.new(kind)
    accounts = Godwit::Logger::Reader.const_get(:Writers).new
    random = Random.new(7)
    2_000.times do
      message =
        case random.rand(10)
        when 0 then line("x")
        when 1 then foreign.sample(random: random)
        else
          frames(
            1 + random.rand(500), level: random.rand(6), writer: writer(random.rand(20)),
            host: %w[a b.c d%][random.rand(3)]
          )
        end
      statistics.record(message)
      accounts.count(Godwit::Logger::Record.parse(message))
    end
    totals = statistics.totals
    assert_equal [accounts.plain, accounts.foreign, accounts.lost, accounts.late],
      totals.values_at(:plain, :foreign, :lost, :late)
    assert_equal accounts.received, statistics.writers.sum { |one| one[:received] } + totals[:plain]
    fields = %i[writer first last received lost late]
    assert_equal accounts.to_a.map { |one| one.to_h.values_at(*fields.map(&:to_s)) }.sort,
      statistics.writers.map { |one| one.values_at(*fields) }.sort
  end

  def spoilt(frame, random)
    bytes = frame.b
    random.rand(3).times { bytes.setbyte(random.rand(bytes.size), random.rand(256)) }
    bytes
  end

  each_kind "bytes of any kind do no harm" do |kind|
    statistics, parsed = [false, true].map do |given|
      Named.new(kind, most: 20, bytes: 3_000, writers: 50, parsed: given)
    end
    random = Random.new(11)
    whole = frames(1)
    3_000.times do |i|
      message =
        case i % 4
        when 0 then Array.new(random.rand(6)) { random.bytes(random.rand(100)) }
        when 1 then whole.map { |frame| frame.byteslice(0, random.rand(frame.bytesize + 1)) }
        when 2 then whole.map { |frame| spoilt(frame, random) }
        else frames(random.rand(1 << 63), writer: random.bytes(16).unpack1("H*"), tseq: 1)
        end
      statistics.record(message)
      parsed.record(message)
    end
    [statistics, parsed].each do |one|
      assert_equal 3_000, one.totals.values_at(:records, :plain, :foreign).sum
      assert_equal 50, one.writers.size
    end
    parsed.messages.each { |message| assert Godwit::Logger::Record.parse(message) }
  end

  each_kind "a header is any JSON object with the numbers, as Python writes it; another frame is " \
    "foreign" do |kind|
    numbers = {"writer" => WRITER, "seq" => 5, "tseq" => 5, "t_ns" => 1_795_177_867_123_456_789}
    python = ->(object) { JSON.generate(object, space: " ", space_before: " ", object_nl: " ") }
    good =
      [
        numbers, numbers.to_a.reverse.to_h, {"v" => 1}.merge(numbers),
        numbers.merge("x" => {"a" => [-0.5, "]}\u00e9\\\"", []], "seq" => 7}, "y" => "]},{"),
        numbers.merge("writer" => WRITER.upcase)
      ].flat_map do |object|
        [JSON.generate(object), python.call(object), "\t#{JSON.pretty_generate(object)}\r\n"]
      end
    text = JSON.generate(numbers)
    bad = [
      "", "{}", "[]", "null", *(0...text.bytesize).map { |size| text.byteslice(0, size) },
      "#{text}}", "#{text[0..-2]}]", "#{text[0..-2]},\"a\":\"\\", text.sub(",", "\"a"),
      *%w[05 -5 5.0 0 "5" 5\ 5 [5]].map { |number|
        text.sub("\"seq\":5", "\"seq\":#{number}")
      },
      text.sub("}", ",\"seq\":0}"), text.sub("}", ",\"t_ns\":1x}"),
      text.sub(WRITER, "x" * 32), text.sub(WRITER, "a" * 31), text.sub(/,"t_ns".*/, "}"),
      text.sub(/1795\d+/, "9" * 30), text.sub('"seq":5', "\"a\":{\"seq\":5}"),
      text.sub('"seq":5', "\"a\":[\"seq\",5]"), text.sub('"seq":5', "\"a\":\",\\\"seq\\\":5,\"")
    ]
    {good => true, bad => false}.each do |headers, records|
      headers.product([false, true]).each do |header, parsed|
        statistics = Named.new(kind, parsed: parsed)
        statistics.record(["INFO.billing.web1.", header, "text"])
        assert_equal records ? [1, 0] : [0, 1],
          statistics.totals.values_at(:records, :foreign), header
        assert_equal records ? [[WRITER, 5, 1]] : [],
          statistics.writers.map { |one| one.values_at(:writer, :last, :received) }
      end
    end
  end
end
