# frozen_string_literal: true

require_relative "logs"
require "stringio"

# The promise "never raises into the application": whatever a program logs, each call returns, and a
# record arrives for it.
class LoggerOddObjectsTest < Godwit::TestCase
  include Godwit::TestSupport::Logs

  def self.object(base = Object, &block) = Class.new(base, &block).new

  # An object whose methods with these names raise.
  def self.raising(*names, base: Object, error: RuntimeError)
    object(base) { names.each { |name| define_method(name) { |*| Kernel.raise(error, "no") } } }
  end

  recursive = []
  recursive << recursive
  no_key = {}.compare_by_identity
  no_key[BasicObject.new] = 1
  nested = []
  1_000.times { nested = [nested] } # the generator of JSON allows a depth of 100

  ODD = {
    "BasicObject" => BasicObject.new,
    # standard:disable Style/MissingRespondToMissing
    "one that answers everything by raising" => object(BasicObject) {
      def method_missing(*) = ::Kernel.raise("no")
    },
    "one that answers everything with itself" => object(BasicObject) {
      def method_missing(*) = self
    },
    # standard:enable Style/MissingRespondToMissing
    "one that cannot tell what it is" => raising(
      :nil?, :is_a?, :instance_of?, :respond_to?, :==, :!, :hash, :eql?, :class, :inspect, :to_s
    ),
    "inspect that the security forbids" => raising(:inspect, error: SecurityError),
    "inspect that needs too much memory" => raising(:inspect, error: NoMemoryError),
    # The object raises the error: after a real overflow Ruby 3.1 may act as if in a trap handler.
    "inspect that needs too much stack" =>
      raising(:inspect, :to_s, :to_json, error: SystemStackError),
    "an Array of itself, as it says" => object { def to_ary = [self] },
    "conversions that raise" => raising(:to_ary, :to_str, :to_hash, :to_a, :to_h, :to_json),
    "a to_json that gives no JSON" => object { def to_json(*) = "oops" },
    "a to_json that gives more than one value" => object {
      def to_json(*) = %(1,"seq":7,"writer":"another)
    },
    "a String whose to_json gives none" => object(String) { def to_json(*) = "{" },
    "a Hash whose to_json gives none" => object(Hash) { def to_json(*) = "" },
    "a class without a name" => object {
      def self.to_s = raise("no")

      def inspect = raise("no")
    },
    "an error of a class without a name" => object(StandardError) { def self.to_s = raise("no") },
    "an error without a message" => raising(:message, base: StandardError),
    "an error whose message is no text" => object(StandardError) { def message = BasicObject.new },
    "an error in another encoding" => StandardError.new("\u{fc}".encode("UTF-16LE")),
    "an error whose backtrace and cause are none" => object(StandardError) {
      def backtrace = 7

      def cause = BasicObject.new
    },
    "a String of a kind" => raising(
      :to_s, :inspect, :dup, :bytesize, :encoding, base: String
    ).freeze,
    "a Hash of a kind" => raising(
      :map, :each, :merge, :inspect, :to_json, :empty?, :nil?, base: Hash
    ),
    "a Hash with a key that has no methods" => no_key,
    "a Hash with values that have none" => {a: BasicObject.new, b: [BasicObject.new]},
    "an Array within itself" => recursive,
    "an Array in an Array in an Array…" => nested
  }.freeze

  # Each call gives the logger one record.
  CALLS = {
    "message" => ->(log, odd) { log.info(odd) },
    "block" => ->(log, odd) { log.info { odd } },
    "progname" => ->(log, odd) { log.add(1, "text", odd) },
    "progname that stays" => ->(log, odd) {
      log.clone.tap { |clone| clone.progname = odd }.info("text")
    },
    "payload" => ->(log, odd) { log.info("text", one: odd, list: [odd]) },
    "positional payload" => ->(log, odd) { log.info("text", odd) },
    "both" => ->(log, odd) { log.info("text", odd, more: 1) },
    "tag" => ->(log, odd) { log.tagged(odd, [odd]) { log.info("text") } },
    "formatter's message" => ->(log, odd) {
      log.clone.tap { |clone| clone.formatter = proc { |*, text| "#{text}\n" } }.info(odd)
    },
    "formatter's line" => ->(log, odd) {
      log.clone.tap { |clone| clone.formatter = proc { odd } }.info("text")
    },
    "<<" => ->(log, odd) { log << odd }
  }.freeze

  ODD.each do |name, odd|
    test "#{name}, everywhere where a program may give it" do
      log = logger
      old = logger(wire: :plain)
      device = Godwit::LogDevice.new(record_pull.last_endpoint)
      CALLS.each do |name, call|
        [log, old].each { |one| call.call(one, odd) }
      rescue => error
        flunk "as #{name}: #{error.class}: #{error.backtrace.grep(/godwit/).first}"
      end
      assert_kind_of Integer, device.write(odd)
      device.close
      _, said = capture_io { [log, old].each { |one| assert one.flush(timeout: 10) } }
      assert_equal "", said
      received = records(2 * CALLS.size + 1)
      assert_equal [CALLS.size, CALLS.size], [log.stats.sent, old.stats.sent]
      received.reject(&:plain?).each do |one|
        assert_equal one.writer, one.data["writer"], "no JSON: #{one.frames[1]}"
      end
    end
  end

  test "a to_json that gives no JSON costs only its own value; valid JSON is taken" do
    point = self.class.object { def to_json(*) = "[1,2]" }
    odd = ODD.fetch("a to_json that gives no JSON")
    log = logger
    log.tagged("one", odd) { log.info("text", at: {point: point}, what: odd, user: 42) }
    log.info("text", odd)
    first, second = records(2)
    assert_equal({"at" => {"point" => [1, 2]}, "what" => odd.inspect, "user" => 42}, first.payload)
    assert_equal ["one", odd.inspect], first.tags
    assert_equal odd.inspect, second.payload
  end

  test "values that the generator of JSON writes itself are recognised, for json versions that " \
    "do not report them" do
    text = Godwit::Logger.const_get(:Text)
    odd = ODD.fetch("a to_json that gives no JSON")
    kind = ODD.fetch("a String whose to_json gives none")
    own = {:a => 1, "b" => [nil, true, 1.5, :c, {1 => "d"}]}
    [own, [], {}, "x", [[own]]].each { |value| assert text.simple?(value), value.inspect }
    [
      odd, kind, [odd], {a: odd}, {odd => 1}, {kind => 1}, {a: [{b: odd}]}, Time.now,
      ODD.fetch("an Array within itself")
    ].each { |value| refute text.simple?(value) }
  end

  test "an error of the formatter's that cannot be shown, and a level that is none" do
    log = logger
    errors = ODD.values.grep(StandardError)
    errors.each do |odd|
      log.formatter = proc { raise odd }
      log.info("text")
    end
    log.formatter = nil
    [1.5, Float::NAN, 2**5000].each { |level| log.add(level, level.to_s) }
    received = records(errors.size + 3)
    assert_equal ["text", "1.5", "NaN", (2**5000).to_s], received.map(&:text).uniq
    assert_equal %w[ANY ANY ANY], received.last(3).map(&:label)
    assert_includes received.map { |one| one.error&.fetch("message") },
      "the formatter raised: \u{fc}"
  end

  test "with an IO for its target, data that cannot be shown appear as the text's end" do
    out = StringIO.new
    log = Godwit::Logger.new(out)
    ODD.each_value { |odd| log.info("text", one: odd) }
    hashes = ODD.values.grep(Hash)
    hashes.each { |odd| log.info("text", odd) }
    assert_equal ODD.size + hashes.size, out.string.scan(" -- : text  ").size
  end

  test "error data that are too long are cut within, and stay an object" do
    error = RuntimeError.new("m\e" * 100_000)
    error.set_backtrace(Array.new(500) { |index| "line #{index} #{"x" * 1000}" })
    logger.error(error)
    one = record
    assert_operator JSON.generate(one.error).bytesize, :<=, 64 * 1024
    assert_equal "RuntimeError", one.error["class"]
    assert_match(/\Am\e.*\(cut \d+ bytes\)\z/m, one.error["message"])
    assert_match(/\Aline 0 x+\.\.\.\(cut/, one.error["backtrace"].first)
    assert_match(/\(cut \d+ lines\)/, one.error["backtrace"].last)
  end

  test "a Time, a Symbol, a Set and a Struct have one form each, as docs/logging.md describes" do
    point = Struct.new(:x, :at).new(1, Time.at(0, 5, :usec, in: "+02:00"))
    logger.info(
      "x", at: Time.at(0, 5, :usec, in: "UTC"), kind: :plain, some: Set[1, :two], point: point,
      list: [{point: point}]
    )
    form = {"x" => 1, "at" => "1970-01-01T02:00:00.000005+02:00"}
    assert_equal(
      {
        "at" => "1970-01-01T00:00:00.000005+00:00", "kind" => "plain", "some" => [1, "two"],
        "point" => form, "list" => [{"point" => form}]
      },
      record.payload
    )
  end
end
