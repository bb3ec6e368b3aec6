# frozen_string_literal: true

require "stringio"
require_relative "logs"

# Godwit::Logger replaces Ruby's Logger in any program, and reports wrong use as Ruby's does.
class LoggerDropInTest < Godwit::TestCase
  include Godwit::TestSupport::Logs

  # The line that Ruby's formatter makes of the message at the record's time.
  def line(record, progname, message)
    ::Logger::Formatter.new.call(record.label, record.time, progname, message)
  end

  test "the line of a record is byte for byte that of Ruby's logger" do
    log = logger(progname: "prog")
    error = assert_raises(ArgumentError) { raise ArgumentError, "bad\nthing" }
    messages = [
      "text", "two\nlines", "", "ü", nil, 1, :sym, {a: 1}, [1, 2], error,
      RuntimeError.new("no backtrace"), "100%"
    ]
    (0..5).to_a.product(messages) do |level, message|
      log.add(level, message) { nil } # for a nil message `add` logs the block's value: also nil
      log.add(level, message, "other") { nil }
      assert_equal line(one = record, "prog", message), one.to_s
      assert_equal line(one = record, "other", message), one.to_s
    end
    log.add(7, "odd level")
    assert_equal ["ANY", "prog", "odd level"], record.deconstruct
  end

  test "return values of its methods" do
    log = logger
    plain = ::Logger.new(StringIO.new)
    calls = [
      ->(l) { l.add(Logger::INFO, "x") }, ->(l) { l.log(Logger::INFO, "x") }, ->(l) { l.info("x") },
      ->(l) { l.unknown { "x" } }, ->(l) { l.add(nil) }, ->(l) { l.add(Logger::INFO) { "x" } },
      ->(l) { l.level = :warn }, ->(l) { l.level }, ->(l) { l.info { raise "not called" } },
      ->(l) { l.debug? }, ->(l) { l.error? }, ->(l) { l.debug! }, ->(l) { l.debug? },
      ->(l) { l.progname = "a" }, ->(l) { l.progname }, ->(l) { l.datetime_format },
      ->(l) { l.datetime_format = "%s" }, ->(l) { l.datetime_format }, ->(l) { l << "raw" },
      ->(l) { l.reopen.equal?(l) }, ->(l) { l.sev_threshold = 0 }, ->(l) { l.formatter = nil },
      ->(l) { l.formatter }, ->(l) { l.info("with Ruby's own formatter") }
    ]
    calls.each_with_index do |call, index|
      assert_equal [call.call(plain)], [call.call(log)], "call #{index}"
    end
    assert_equal plain.respond_to?(:with_level), log.respond_to?(:with_level)
    assert_equal ["x"] * 4 + ["nil", "x", "raw", "with Ruby's own formatter"],
      records(8).map(&:text)
  end

  # The child does not load ActiveSupport, which would limit a level to a thread or to a fiber.
  test "a local level holds for its thread and fiber" do
    assert_logs(<<~RUBY)
      log = Godwit::Logger.new(ENDPOINT)
      log.silence do
        Thread.new { log.info("thread") && log.local_level = :fatal }.join
        Fiber.new { log.info("fiber") }.resume
        log.info("silent")
      end
      log.info("end")
      abort("ActiveSupport is here") if defined?(ActiveSupport)
    RUBY
    assert_equal %w[thread fiber end], records(3).map(&:text)
  end

  test "with nil, an IO or the null device it is Ruby's, and data follow the text" do
    out = StringIO.new
    log = Godwit::Logger.new(out, progname: "a", formatter: proc { |*, text| "#{text}\n" })
    assert_equal true, log.info("x")
    log << "raw\n"
    log.warn("text", user: 42, text: "two words")
    log.warn("named", {a: 1}) { "lazy" }
    log.level = :info
    log.debug(a: 1) { flunk }
    log.add(Logger::INFO, "given", nil, {b: nil})
    assert_equal "x\nraw\ntext  user=42 text=\"two words\"\nlazy  a=1\ngiven  b=null\n", out.string
    assert_equal [nil, true], [log.stats, log.flush]
    log.close
    [[nil], [File::NULL], []].each do |target|
      none = Godwit::Logger.new(*target)
      assert_equal [true, nil, nil], [none.info("x"), none << "x", none.close]
    end
  end

  test "an invalid endpoint is refused at construction, with the name and a valid example" do
    ["foo", "log/production.log", "tcp://host", "tcp://*:7000", "ftp://host:1", "udp://10.0.0.1:9",
      ""].each do |text|
      error = assert_raises(ArgumentError, text) { Godwit::Logger.new(text) }
      assert_includes error.message, text.inspect
      assert_includes error.message, "tcp://loghost:7000"
      assert_kind_of Godwit::Error, error
    end
  end

  test "other arguments are checked at construction too, and options without effect" do
    {overflow: :drop, queue: 0, queue_bytes: "x", linger: nil, wire: :json, block_timeout: -1,
     context: 1, send_hwm: "x", nonsense: 1, subscribe: "a", curve: 1, spool: scratch_dir,
     fsync: true}.each do |name, value|
      error = assert_raises(ArgumentError, TypeError, name.to_s) do
        Godwit::Logger.new("tcp://127.0.0.1:1", name => value)
      end
      assert_includes error.message, name.to_s
      assert_kind_of Godwit::Error, error
    end
    log = logger
    ["a", -1, Float::NAN].each do |time|
      assert_raises(Godwit::ArgumentTypeError, Godwit::ArgumentValueError, time.to_s) do
        log.flush(timeout: time)
      end
    end
  end

  test "times that are longer than all are taken" do
    [1e300, 10**30, 3_000_000].each do |long|
      log = logger(linger: long)
      log.info("x")
      assert log.flush(timeout: long)
      assert_equal "x", record.text
      log.close # Logs#teardown asserts that the close warns of nothing
    end
    may_lose
    log = logger(nowhere, overflow: :block, block_timeout: 1e300, queue: 1, linger: 0)
    caller = in_thread { 3.times { |number| log.info(number.to_s) } }
    until_full(log)
    capture_io { log.close }
    caller.value # raises if the thread has raised
  end

  test "in another Ractor it is refused at construction" do
    not_on :ffi, "the gem ffi allows the main Ractor only"
    result = assert_child run_child(<<~RUBY)
      require "godwit"
      Godwit::Logger.name
      Warning[:experimental] = false
      ractor = Ractor.new do
        Godwit::Logger.new("tcp://127.0.0.1:1")
      rescue Godwit::UnsupportedError => error
        error.message
      end
      puts ractor.take
    RUBY
    assert_match(/main Ractor only/, result.stdout)
  end

  test "bind: an address in use is reported at once; a free one binds, and a reader may connect" do
    assert_raises(Godwit::AddressInUseError) do
      Godwit::Logger.new(record_pull.last_endpoint, bind: true)
    end
    endpoint = endpoint_for(:ipc)
    log = logger(endpoint, bind: true)
    log.info("x")
    pull = open_socket(:PULL).connect(endpoint)
    assert_equal "x", pull.recv(timeout: 5).last
  end

  test "errors of the program's own methods do not reach the program" do
    nothing = Object.new
    def nothing.inspect = nil
    itself = Object.new
    def itself.to_s = self
    safe = Class.new(String) { def to_s = self } # as in ActiveSupport::SafeBuffer
    log = logger
    log.info(nothing)
    log.info(itself) { "itself" }
    log.info(safe.new("safe")) { "String of a kind" }
    log << "utf-16\n".encode("UTF-16LE")
    log << BasicObject.new
    [-> {}, -> { raise "no" }].each do |tags|
      log.formatter = proc { |*, text| "#{text}\n" }
      log.formatter.define_singleton_method(:current_tags, &tags)
      log.info("tags")
    end
    received = records(7)
    assert_equal ["", "itself", "String of a kind", "utf-16", "BasicObject", "tags", "tags"],
      received.map(&:text)
    assert_match(/\A#<Object:.* safe\z/, received[1, 2].map(&:prog).join(" "))
  end

  test "a device for any other logger: level, program and text of Ruby's line; other lines as " \
    "they are" do
    device = Godwit::LogDevice.new(record_pull.last_endpoint, progname: "fallback", linger: 10)
    (@loggers ||= []) << device
    log = ::Logger.new(device)
    log.warn("two\nlines")
    log.info("named") { "x" }
    log.formatter = proc { |*, text| "own: #{text}\n" }
    log.error("y")
    device << "direct\n"
    assert_equal 3, device.write("abc")
    assert device.flush(timeout: 5)
    assert_equal [
      ["WARN", "fallback", "two\nlines"], %w[INFO named x], ["ANY", "fallback", "own: y"],
      %w[ANY fallback direct], %w[ANY fallback abc]
    ],
      records(5).map { |one| [one.label, one.prog, one.text] }
    log.close
    assert_predicate device, :closed?
    assert_equal 5, device.stats.sent
    assert_includes device.inspect, "(closed)"
  end

  test "an odd program name" do
    bad = Object.new
    def bad.to_s = raise("no")
    log = logger
    [:sym, 1, bad, "\xFF", "a b"].each { |name| log.info(name) { "x" } }
    assert_equal ["sym", "1", "Object", "\u{FFFD}", "a b"], records(5).map(&:prog)
  end
end
