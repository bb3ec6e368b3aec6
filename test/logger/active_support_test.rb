# frozen_string_literal: true

require "test_helper"
require "stringio"
require_relative "logs"

# Godwit::Logger with ActiveSupport: a Rails application that combines two Ruby Loggers must get the
# same effects when one of them is a Godwit logger.
class ActiveSupportLoggerTest < Godwit::TestCase
  FOUND = RUBY_ENGINE != "jruby" && begin
    require "active_support"
    require "active_support/tagged_logging"
    require "active_support/broadcast_logger"
    require "active_support/core_ext/object/try" # logger_outputs_to? calls try, which Rails loads
    true
  end

  # Collects lines as ActiveSupport's loggers write them: "[tag] text".
  class Lines
    def initialize(**options)
      @io = StringIO.new
      @logger = Logger.new(@io, formatter: ActiveSupport::Logger::SimpleFormatter.new, **options)
    end

    attr_reader :logger

    def lines = @io.string.lines(chomp: true)
  end

  # Collects received records, and makes of each a line "[tag] text". If a record's text contained
  # its tag, the line would have the tag twice.
  class Records
    def initialize(pull, type: Godwit::Logger, **options)
      @pull = Godwit::TestSupport::Logs::RecordPull.new(pull)
      @logger = type.new(pull.last_endpoint, **options)
    end

    attr_reader :logger

    def records
      return @records if @records
      @logger.flush(timeout: 5)
      @logger.close
      @records = Array.new(@logger.stats.sent) do
        Godwit::Logger::Record.parse(@pull.recv(timeout: 5))
      end
      raise "more came than was sent" if @pull.recv(timeout: 0, exception: false)
      @records
    end

    def lines
      records.map { |record| [*record.tags.map { |tag| "[#{tag}]" }, record.text].join(" ") }
    end
  end

  def setup
    not_on :jruby, "the gem activesupport is CRuby's here" unless FOUND
  end

  # Runs the block with two Ruby Loggers, then with a Ruby Logger and a Godwit logger.
  # @yieldparam first [Logger] a Ruby Logger
  # @yieldparam second [Logger] a Ruby Logger or a Godwit logger
  # @return [Records]
  def assert_alike(**options, &block)
    wanted = run_with(Lines.new, theirs = Lines.new(**options), &block)
    got = run_with(Lines.new, ours = records(**options), &block)
    assert_equal wanted[1..], got[1..], "what the block gave, and what the first logger wrote"
    assert_equal theirs.lines, ours.lines
    refute_empty theirs.lines
    ours
  end

  def run_with(first, second)
    value = yield(first.logger, second.logger)
    [second, value, first.lines]
  end

  def records(**options)
    Records.new(open_socket(:PULL).bind("tcp://127.0.0.1:*"), **options)
      .tap { |records| own(records.logger) }
  end

  test "TaggedLogging: tags of blocks within blocks; once, as an Array, and not in the text" do
    ours = assert_alike do |_, logger|
      log = ActiveSupport::TaggedLogging.new(logger)
      log.info("before")
      value = log.tagged("A") do |yielded|
        yielded.info("one")
        log.tagged("B", ["C"], nil, "") { log.warn { "three" } }
        log.add(Logger::ERROR, "one again")
        :value
      end
      log.info("after")
      [value, log.formatter.current_tags.dup, log.is_a?(Logger), log.level]
    end
    assert_equal [
      ["before", [], 1], ["one", ["A"], 1], ["three", %w[A B C], 2], ["one again", ["A"], 3],
      ["after", [], 1]
    ],
      ours.records.map { |one| [one.text, one.tags, one.level] }
  end

  test "TaggedLogging: without a block, a separate logger with the tags" do
    assert_alike do |_, logger|
      log = ActiveSupport::TaggedLogging.new(logger)
      other = log.tagged("job", 7)
      third = other.tagged("more")
      other.info("two")
      third.info("three")
      log.info("none")
      log.tagged("A") { log.tagged("B").info("both") }
      [other.instance_of?(log.class), third.formatter.current_tags]
    end
  end

  test "a formatter of the application's keeps its line, and tags" do
    shout = ->(severity, _time, progname, message) do
      "#{severity} #{progname} #{message.to_s.upcase}\n"
    end
    ours = records(progname: "app")
    theirs = Lines.new(progname: "app")
    [ours, theirs].each do |one|
      one.logger.formatter = shout
      one.logger.info("plain")
      log = ActiveSupport::TaggedLogging.new(one.logger)
      log.tagged("a") { log.info("tagged") }
    end
    assert_equal ["INFO app PLAIN", "INFO app [A] TAGGED"], theirs.lines
    assert_equal "INFO app PLAIN", ours.records.first.text
    assert_match(/TAGGED\z/, ours.records.last.text)
    assert_equal 1, ours.lines.last.scan(/\[a\]/i).size, ours.lines.last
  end

  test "with our own formatter, and with Ruby's as Rails gives it, a plain line has the tags " \
    "once, and a record has them beside its text" do
    [nil, Logger::Formatter.new].product(%i[plain records]).each do |formatter, wire|
      ours = records(wire: wire)
      ours.logger.formatter = formatter if formatter
      log = ActiveSupport::TaggedLogging.new(ours.logger)
      log.info("before")
      log.tagged("A") { log.tagged("B") { log.info("text") } }
      log.info("after")
      assert_equal ["before", "[A] [B] text", "after"], ours.lines, [formatter, wire].inspect
    end
  end

  test "BroadcastLogger: levels, calls, blocks and values" do
    assert_alike(level: :warn) do |first, second|
      log = ActiveSupport::BroadcastLogger.new(first, second)
      calls = 0
      values =
        %i[debug info warn error fatal unknown].map do |name|
          log.public_send(name) { "#{name} #{calls += 1}" }
        end
      values += [
        log.add(Logger::ERROR, "added"), log.log(Logger::WARN) { "logged" }, log.level, log.debug?,
        log.error?, log.progname
      ]
      log.level = :fatal
      log.error("too low")
      log.fatal("high enough")
      values += [log.level, first.level, second.level, calls]
      log.debug!
      log.debug("all")
      values << second.debug?
    end
  end

  # Uses ActiveSupport's methods of a logger, and collects what they and their blocks return.
  def silencing(log, values = [])
    values << log.silence { log.warn("no") || log.error("error") && log.warn? }
    values << log.silence(:fatal) { log.error("no") && log.fatal("fatal") && log.level }
    values << log.log_at(:info) { log.debug("no") && log.info("info") && log.local_level }
    log.silence do
      Thread.new { log.info("thread") }.join
      Fiber.new { log.info("fiber") }.resume
      [1].each_entry.lazy.map { log.info("enumerator") }.next
      if log.is_a?(ActiveSupport::TaggedLogging)
        log.tagged("A") { log.info("no") && log.error("tagged") }
      end
    end
    log.local_level = :error
    log.warn("no")
    values << log.level << log.local_level
    log.local_level = nil
    log.debug("debug")
    ["error", :loud, 1.5].each do |odd|
      log.local_level = odd
    rescue ArgumentError, NameError
      values << odd
    end
    values << log.level << log.local_level
  end

  %i[thread fiber].each do |isolation|
    test "silence, log_at, local_level= as ActiveSupport::Logger has them, by #{isolation}" do
      before = ActiveSupport::IsolatedExecutionState.isolation_level
      ActiveSupport::IsolatedExecutionState.isolation_level = isolation
      [->(one) { one }, ->(one) { ActiveSupport::TaggedLogging.new(one) },
        ->(one) { ActiveSupport::BroadcastLogger.new(one) },
        ->(one) { ActiveSupport::BroadcastLogger.new(Logger.new(nil), one) }].each do |around|
        out = StringIO.new
        theirs = ActiveSupport::Logger.new(out)
        ours = records
        wanted = silencing(around.call(theirs))
        assert_equal wanted, silencing(around.call(ours.logger))
        assert_equal out.string.lines(chomp: true), ours.lines
      end
    ensure
      ActiveSupport::IsolatedExecutionState.isolation_level = before if before
    end
  end

  test "silence: a class of Godwit::Logger with LoggerSilence" do
    type = Class.new(Godwit::Logger) { include ActiveSupport::LoggerSilence }
    ours = records(type: type)
    log = ours.logger
    value = log.silence { |inner| inner.info("not received") && inner.error("received") && :value }
    log.info("received again")
    assert_equal [:value, ["received", "received again"]], [value, ours.lines]
  end

  test "logger_outputs_to? says no, and does not mind" do
    log = records.logger
    both = ActiveSupport::BroadcastLogger.new(log, Logger.new($stderr))
    assert_equal [false, false, true],
      [log, ActiveSupport::BroadcastLogger.new(log), both].map { |one|
        ActiveSupport::Logger.logger_outputs_to?(one, $stderr)
      }
  end
end
