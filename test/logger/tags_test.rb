# frozen_string_literal: true

require "stringio"
require_relative "logs"

# `tagged` has its effect with every formatter and every target.
class LoggerTagsTest < Godwit::TestCase
  include Godwit::TestSupport::Logs

  OWN = Class.new(::Logger::Formatter) do
    def call(severity, _, _, message) = "#{severity} #{msg2str(message)}\n"
  end
  # No formatter, Ruby's formatter, a block, and an object of a formatter class.
  FORMATTERS = [
    -> {}, -> { ::Logger::Formatter.new },
    -> { proc { |severity, _, _, message| "#{severity} #{message}\n" } }, -> { OWN.new }
  ].freeze

  LINE = /(?: -- : |\AINFO )(.*)/

  # Yields a logger of this kind for each formatter, which `new` gets or which is set later. Also
  # yields a callable that returns the tagged texts of `count` records.
  def each_formatter(kind)
    FORMATTERS.product([true, false]) do |make, given|
      out = StringIO.new
      options = given ? {formatter: make.call} : {}
      log =
        case kind
        when :io then Godwit::Logger.new(out, **options)
        when :lines then logger(wire: :plain, **options)
        when :records then logger(**options)
        end
      log.formatter = make.call unless given
      yield log, ->(count) { texts(kind, count, out) }
    end
  end

  def texts(kind, count, out)
    case kind
    when :io then out.string.lines.map { |line| line[LINE, 1] }
    when :lines then Array.new(count) { record_pull.recv(timeout: HANG)[LINE, 1] }
    when :records then records(count).map { |one| seen(one) }
    end
  end

  def seen(record)
    [*record.tags.map { |tag| "[#{tag}]" }, record.text.delete_prefix("INFO ")].join(" ")
  end

  %i[records lines io].each do |kind|
    test "#{kind}: tags of a block within a block, and none after it, also when it raises" do
      each_formatter(kind) do |log, texts|
        value = log.tagged("a") do |yielded|
          yielded.info("one")
          log.tagged("b", ["c"], nil, "") { log.info("two") }
          assert_raises(IOError) { log.tagged("d") { raise IOError } }
          log.info("three")
          :value
        end
        log.info("none")
        assert_equal [:value, ["[a] one", "[a] [b] [c] two", "[a] three", "none"]],
          [value, texts.call(4)]
      end
    end

    test "#{kind}: without a block, another logger that always has the tags" do
      each_formatter(kind) do |log, texts|
        other = log.tagged("job", 7)
        third = log.tagged("a") { other.tagged("more") }
        [other, third, log].each { |one| one.info("x") }
        log.tagged("b") { [log, other].each { |one| one.info("x") } }
        assert_equal ["[job] [7] x", "[job] [7] [more] x", "x", "[b] x", "[job] [7] x"],
          texts.call(5)
      end
    end

    test "#{kind}: each thread and fiber has its own" do
      each_formatter(kind) do |log, texts|
        log.tagged("a") do
          Thread.new { log.info("x") }.join
          Fiber.new { log.tagged("b") { log.info("x") } }.resume
          log.info("x")
        end
        assert_equal ["x", "[b] x", "[a] x"], texts.call(3)
      end
    end
  end

  test "without tags a formatter gets the object itself; with tags its text, as Ruby shows it" do
    given = []
    log = Godwit::Logger.new(StringIO.new, formatter: ->(*, message) { given << message && "" })
    error = KeyError.new("no key")
    log.error(error)
    log.tagged("a") do
      log.info(a: 1)
      log.error(error)
      log.info("text", user: 42)
    end
    assert_equal [error, "[a] #{{a: 1}.inspect}", "[a] no key (KeyError)\n", "[a] text  user=42"],
      given
  end

  test "with an endpoint a formatter gets the object itself, in the thread that logs, and the " \
    "tags are beside it" do
    given = nil
    log = logger(formatter: ->(*arguments) { (given = [*arguments, Thread.current]) && "x" })
    log.tagged("a") { log.info("p", a: 1) { {b: 2} } }
    severity, time, *others = given
    assert_equal ["INFO", Time, ["p", {b: 2}, Thread.current]], [severity, time.class, others]
    assert_equal ["x", ["a"]], record.then { |one| [one.text, one.tags] }
  end

  test "<< has no tags, as it has no formatter" do
    out = StringIO.new
    [Godwit::Logger.new(out), logger].each { |log| log.tagged("a") { log << "x\n" } }
    assert_equal ["x\n", [], "ANY"], [out.string, *record.then { |one| [one.tags, one.label] }]
  end
end
