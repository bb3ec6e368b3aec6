# frozen_string_literal: true

require "test_helper"
require "godwit/logger"

# A faster path than Ruby's formatter makes the lines of `wire: :plain`, and the lines are the same.
class LoggerPlainLineTest < Godwit::TestCase
  TEXTS = ["x", "", "two\nlines", "an end\n", "a return\r", "ü", "\xFF".b, "100 %"].freeze

  Entry = Godwit::Logger.const_get(:Entry)
  private_constant :Entry

  def sequence
    Godwit::Logger.const_get(:SequenceCounter).new(
      Godwit::Logger.const_get(:Settings).new("tcp://127.0.0.1:9", wire: :plain)
    )
  end

  def utf8(text) = Godwit::Logger.const_get(:Text).utf8(text)

  # Within a second, at its edges, and where a zone's hour jumps.
  def times
    start = Time.utc(2026, 10, 24, 12).to_i
    random = Random.new(7)
    [
      [0, 999, 1_000, 999_999_999, 999_999_000, 1_000_000].map do |rest|
        start * 1_000_000_000 + rest
      end,
      Array.new(300) { (start + random.rand(90_000)) * 1_000_000_000 + random.rand(1_000_000_000) }
    ].flatten
  end

  test "each line equals the line of Ruby's formatter, without its end" do
    one = sequence
    lines = Godwit::Logger.const_get(:Lines).new
    formatter = Logger::Formatter.new
    times.each_with_index do |t_ns, index|
      level = index % 6
      text = TEXTS[index % TEXTS.size]
      prog = [nil, "billing", "ä b"][index % 3]
      wanted =
        formatter.call(
          %w[DEBUG INFO WARN ERROR FATAL ANY][level], Time.at(0, t_ns, :nsec), prog, utf8(text)
        ).delete_suffix("\n")
      entry = Entry.new(one.stream(level, prog), t_ns, 0, 0, text, nil, nil, nil)
      assert_equal wanted, entry.line(lines)
    end
  end

  test "the end of a text stays, and so does a return before the line's end" do
    pull = open_socket(:PULL).bind("tcp://127.0.0.1:*")
    log = own(Godwit::Logger.new(pull.last_endpoint, wire: :plain))
    ["x\r", "x\n", "x\r\n"].each do |text|
      log.info(text)
      assert_equal text, pull.recv(timeout: 5)[/ -- : (.*)\z/m, 1]
    end
  end
  test "tags and a custom time format are in the line" do
    pull = open_socket(:PULL).bind("tcp://127.0.0.1:*")
    log = own(Godwit::Logger.new(pull.last_endpoint, wire: :plain))
    log.tagged("A", "B") { log.info("text") }
    assert_match(/\AI, \[.*\d{6} #\d+\]  INFO -- : \[A\] \[B\] text\z/, pull.recv(timeout: 5))
    log.datetime_format = "%Y"
    log.info("text")
    assert_match(/\AI, \[\d{4} #\d+\]  INFO -- : text\z/, pull.recv(timeout: 5))
  end
end
