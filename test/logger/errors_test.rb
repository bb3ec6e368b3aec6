# frozen_string_literal: true

require "stringio"
require_relative "logs"

# An error that a program logs: one line has its class, message and file:line, in `godwit log tail`
# and in the file of `godwit log serve`. Options add the backtrace and the causes.
class LoggerErrorsTest < Godwit::TestCase
  include Godwit::TestSupport::Logs

  View = Godwit::Logger::View
  Sink = Godwit::Logger::Sink

  def self.nested
    begin
      raise KeyError, "no such key"
    rescue KeyError
      raise ArgumentError, "no user"
    end
  rescue ArgumentError => error
    error
  end

  def self.error(message, backtrace = ["app.rb:3:in `save'", "app.rb:9:in `<main>'"])
    RuntimeError.new(message).tap { |error| error.set_backtrace(backtrace) }
  end

  def error(...) = self.class.error(...)

  # The text of a line of `tail`, without the time and the process.
  def shown(record, **options) = View.new(**options).line(record)[/ \S+\[\d+\] (.*)\n\z/m, 1]

  # The text of a line in the file of `serve`, without the time and the program.
  def in_file(record)
    path = File.join(scratch_dir, "#{rand}.log")
    Sink.new(path).tap { |sink| sink.write([record]) }.close
    text = File.read(path)
    assert_equal record.to_s, text
    text[/ -- app: (.*)\n\z/m, 1]
  end

  def log = @log ||= logger(progname: "app")

  CALLS = {
    "an error after the text" => ->(log, error) { log.error("saving failed", error) },
    "exception:" => ->(log, error) { log.error("saving failed", exception: error) },
    "error:" => ->(log, error) { log.error("saving failed", error: error) },
    "exception_object:" => ->(log, error) { log.error("saving failed", exception_object: error) },
    "a Hash after the text" => ->(log, error) { log.error("saving failed", {error: error}) },
    "a block" => ->(log, error) { log.error(nil, error) { "saving failed" } }
  }.freeze

  CALLS.each do |name, call|
    test "#{name}: class, message and place are in one line" do
      call.call(log, error("no user"))
      one = record
      assert_equal ["saving failed", nil], [one.text, one.payload]
      wanted = "saving failed  no user (RuntimeError) at app.rb:3:in `save'"
      assert_equal [wanted, wanted], [shown(one), in_file(one)]
      assert_equal "#{wanted}\n    app.rb:9:in `<main>'", shown(one, backtrace: true)
      assert_equal wanted, shown(one, format: " x[1] %{message}")
    end
  end

  test "an error alone is one line in tail, and Ruby's lines in the file; data follow it" do
    log.error(error("no user"))
    log.error(error("no user"), id: 7)
    log.error(error: error("no user"), id: 7)
    one, two, three = records(3)
    line = "no user (RuntimeError) at app.rb:3:in `save'"
    assert_equal [line, "#{line}\n    app.rb:9:in `<main>'", "#{line}  id=7"],
      [shown(one), shown(one, backtrace: true), shown(two)]
    assert_equal "no user (RuntimeError)\napp.rb:3:in `save'\napp.rb:9:in `<main>'", in_file(one)
    assert_equal [{"id" => 7}, "RuntimeError"], [three.payload, three.error["class"]]
  end

  test "the error comes before the data, on the first line of the text" do
    log.error("one\ntwo", exception: error("no user"), id: 7)
    one = record
    wanted = "one  no user (RuntimeError) at app.rb:3:in `save'"
    assert_equal "#{wanted}  id=7\n    two", shown(one)
    assert_equal "#{wanted}\ntwo", in_file(one)
  end

  test "--backtrace shows the causes with their places, and grep finds what it shows" do
    log.error("saving failed", self.class.nested)
    one = record
    first, *rest = shown(one, backtrace: true).lines(chomp: true)
    assert_match(/\Asaving failed  no user \(ArgumentError\) at .*:\d+:in /, first)
    assert_match(/\A    caused by: no such key \(KeyError\) at .*:\d+:in [^,]*\z/,
      rest.grep(/caused by/).join(","))
    ["no user", "ArgumentError", "errors_test.rb", "caused by", "no such key"].each do |word|
      assert Godwit::Logger::Filter.new(grep: word).fits?(one), word
    end
    refute Godwit::Logger::Filter.new(grep: "nothing of it").fits?(one)
  end

  test "an error without a backtrace, without a message" do
    log.error("x", KeyError.new("no key"))
    log.error("x", KeyError.new(""))
    log.error(KeyError.new("no key"))
    received = records(3)
    assert_equal ["x  no key (KeyError)", "x  (KeyError)", "no key (KeyError)"],
      received.map { |one| shown(one) }
    assert_equal "x  no key (KeyError)", in_file(received.first)
  end

  HOSTILE = {
    "lines" => error("a\n\nb\r\nFATAL forged"),
    "escapes" => error("\e[31mred\u2028\u202e"),
    "bytes that are no UTF-8" => error("\xFF\xC3".b),
    "UTF-16" => error("\u{fc}".encode("UTF-16LE")),
    "200,000 spaces" => error("#{" " * 200_000}x"),
    "200,000 newlines" => error("#{"\n" * 200_000}x"),
    "a backtrace of other lines" => error("x", ["a\nb", "\e[1m", "\xFF"]),
    "a message that raises" => Class.new(StandardError) { def message = raise("no") }.new,
    "a message that is no text" => Class.new(StandardError) { def message = 7 }.new,
    "a backtrace that is none" => Class.new(StandardError) { def backtrace = 7 }.new("x"),
    "an endless cause" => Class.new(StandardError) { def cause = self.class.new }.new("x")
  }.freeze

  test "no error breaks out of its line, or makes it endless" do
    HOSTILE.each do |name, odd|
      log.error("text", odd)
      one = record
      [shown(one), in_file(one)].each do |line|
        assert_equal 1, line.lines.size, name
        assert_predicate line, :valid_encoding?, name
        assert line.start_with?("text  "), name
        assert_includes line, "(#{odd.class.name || "#<Class:"}", name
        assert_operator line.bytesize, :<, 3_000, name
      end
      assert_match(/\A[[:print:]]+\z/, shown(one), name)
      assert_match(/\A[[:print:]\n]+\z/, shown(one, backtrace: true), name)
    end
  end

  test "whatever a foreign writer sends as the error is shown" do
    values = [7, nil, "text", [1], {"a" => 1}, "a\nb\e", {}, [nil, "x\ny"]]
    header = {v: 1, writer: "ab" * 16, seq: 7, tseq: 3, t_ns: 1, mono_ns: 1, level: 3, pid: 1}
    values.product(values) do |one, other|
      header[:error] =
        {class: one, message: other, backtrace: one, causes: [other, {class: 1}]}
      odd = Godwit::Logger::Record.parse(["ERROR.app.h.", JSON.generate(header), "text"])
      assert_equal 1, in_file(odd).lines.size
      assert_match(/\A[[:print:]]+\n\z/, View.new.line(odd))
      assert_match(/\A[[:print:]\n]+\z/, View.new(backtrace: true).line(odd))
    end
  end

  # A line has no separate field for an error, so the line's text has the whole error.
  test "a plain line, and a logger with an IO, show the error with its backtrace and causes" do
    wanted = "saving failed  no user (RuntimeError) at app.rb:3:in `save'"
    CALLS.each do |name, call|
      out = StringIO.new
      call.call(Godwit::Logger.new(out), error("no user"))
      call.call(logger(wire: :plain), error("no user"))
      [out.string, record_pull.recv(timeout: HANG)].each do |line|
        assert_equal "#{wanted}\napp.rb:9:in `<main>'", line[/ -- : (.*?)\n?\z/m, 1], name
      end
    end
    logger(wire: :plain).error("saving failed", self.class.nested)
    assert_match(/^caused by: no such key \(KeyError\) at /, record_pull.recv(timeout: HANG))
    old = logger(wire: :plain, formatter: ->(*, message) { "<#{message}>" })
    old.error("saving failed", error("no user", ["app.rb:3"]))
    assert_equal "<saving failed  no user (RuntimeError) at app.rb:3>",
      record_pull.recv(timeout: HANG)
  end
end
