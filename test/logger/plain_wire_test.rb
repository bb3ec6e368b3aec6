# frozen_string_literal: true

require "time"
require_relative "logs"

# `wire: :plain`: a record is the line of Ruby's formatter.
class LoggerPlainWireTest < Godwit::TestCase
  include Godwit::TestSupport::Logs

  Lines = Godwit::Logger.const_get(:Lines)
  LINE = /\A([DIWEFA]), \[(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)\.(\d{6}) #(\d+)\] +(\w+) -- /

  def plain(endpoint = record_pull.last_endpoint, **options)
    logger(endpoint, wire: :plain, **options)
  end

  def line = record_pull.recv(timeout: HANG).force_encoding(Encoding::UTF_8)

  # The line that Ruby's formatter makes of the message, with the time and process of `line`.
  def ruby_line(line, progname, message)
    match = line.match(LINE)
    refute_nil match, line
    time = Time.local(*match.captures[1, 6].map(&:to_i), match[8].to_i)
    Logger::Formatter.new.call(match[10], time, progname, message).delete_suffix("\n").delete("\0")
  end

  TEXTS = [
    "text", "", "two\nlines", "an end\n", "a return\r", "both\r\n", "ü", "100 %", "a\0b",
    "ascii".encode("US-ASCII"), "%s %d"
  ].freeze
  OTHERS = ["\xFF", "\xFFa".b, "ä".encode("UTF-16LE"), "ä".encode("ISO-8859-1"), "a\xC3"].freeze

  test "each line equals the line of Ruby's formatter, for any level, name and text" do
    log = plain
    progs = [nil, "billing", "ä b", "a\0b", :symbol]
    (0..5).to_a.product(TEXTS).each_with_index do |(level, text), index|
      log.progname = progs[index % progs.size]
      log.add(level, text)
      came = line
      assert_equal ruby_line(came, log.progname, text.encode("UTF-8")), came
      assert_equal %w[DEBUG INFO WARN ERROR FATAL ANY][level], came[LINE, 10]
    end
    log.add(Logger::INFO, "text", "another")
    assert_equal ruby_line(came = line, "another", "text"), came
  end

  test "texts in other encodings, other objects, and texts that are too long" do
    log = plain
    utf8 = Godwit::Logger.const_get(:Text).method(:utf8)
    OTHERS.each { |text| log.info(text) && assert_equal(utf8.call(text), line[/ -- : (.*)\z/m, 1]) }
    [nil, 1, :sym, {a: 1}, RuntimeError.new("e")].each do |one|
      log.info(one) && assert_equal(ruby_line(came = line, nil, one), came)
    end
    log.info("x" * 70_000)
    assert_match(/x\.\.\.\(cut 4464 bytes\)\z/, line)
    log.info("text", user: 1)
    assert_match(/ -- : text\z/, line)
    log << "raw"
    assert_equal "raw", line
  end

  test "the time is that of the call, in the program's zone, in every second" do
    before = ENV["TZ"]
    start = Time.utc(2026, 10, 24, 12).to_i * 1_000_000_000
    %w[Asia/Kathmandu America/Caracas UTC].each do |zone|
      ENV["TZ"] = zone
      lines = Lines.new
      [0, 999, 1_000, 999_999_999, 1_000_000_000, 45_000_000_000_000, 0].each do |rest|
        time = Time.at(0, start + rest, :nsec)
        assert_equal Logger::Formatter.new.call("INFO", time, "app", "x").sub(/#\d+/, "#7"),
          lines.build("INFO", start + rest, 7, "app", "x", "\n")
      end
    end
    earliest = Time.now.floor(6)
    plain.info("x")
    assert_includes earliest..Time.now, Time.iso8601("#{line[/\[(\S+)/, 1]}Z")
  ensure
    ENV["TZ"] = before
  end

  test "a setting that changes the form of a line has its effect at once, and ends at once" do
    log = plain(progname: "p", datetime_format: "%Y")
    check = ->(wanted) { log.info("x") && assert_match(/\A#{wanted}\z/, line) }
    usual = 'I, \[[^ ]+\.\d{6} #\d+\]  INFO -- p: x'
    check.call('I, \[\d{4} #\d+\]  INFO -- p: x')
    log.datetime_format = "%d"
    check.call('I, \[\d\d #\d+\]  INFO -- p: x')
    log.datetime_format = nil
    check.call(usual)
    ours = log.formatter
    log.formatter = ->(severity, _, progname, message) { "#{severity} #{progname} #{message}" }
    check.call("INFO p x")
    log.formatter = nil
    check.call(usual)
    log.formatter = ours
    log.tagged("a", "b") { check.call(usual.sub("x", '\[a\] \[b\] x')) }
    check.call(usual)
    log.formatter.push_tags("c", "d")
    assert_equal ["d"], log.formatter.pop_tags
    check.call(usual.sub("x", '\[c\] x'))
    log.formatter.clear_tags!
    log.progname = +"q"
    check.call(usual.sub("p:", "q:"))
    log.progname << "r"
    check.call(usual.sub("p:", "qr:"))
    log.progname = nil
    check.call(usual.sub("p:", ":"))
    copy = log.tagged("d")
    copy.info("x")
    assert_match(/ -- : \[d\] x\z/, line)
    other = log.clone
    other.progname = "other"
    other.info("x")
    assert_match(/ -- other: x\z/, line)
    check.call(usual.sub("p:", ":"))
  end
end
