# frozen_string_literal: true

require_relative "logs"

# The messages that a logger sends.
class LoggerWriterTest < Godwit::TestCase
  include Godwit::TestSupport::Logs

  test "a record is topic, header with its keys in order, text" do
    log = logger(progname: "billing", host: "web1.x%")
    before = Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)
    assert_equal true, log.tagged("req-9") { log.warn("card refused", user: 42) }
    topic, header, text = record_pull.recv(timeout: 5)
    assert_equal ["WARN.billing.web1%2Ex%25.", "card refused"], [topic, text]
    data = JSON.parse(header)
    assert_equal Godwit::Logger::Record.const_get(:KEYS) - ["error"], data.keys
    assert_equal [1, 1, 1, 2, Process.pid, "web1.x%", "billing", ["req-9"], {"user" => 42}],
      data.values_at("v", "seq", "tseq", "level", "pid", "host", "prog", "tags", "payload")
    assert_match(/\A\h{32}\z/, data["writer"])
    assert_kind_of Integer, data["thread"]
    assert_includes before..Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond),
      data["t_ns"]
    assert_includes 0..Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond), data["mono_ns"]
    assert_match Godwit::Logger.const_get(:Header)::START, header
  end

  test "a message that changes after the call is sent unchanged" do
    text = +"before, and long enough to be no embedded string of Ruby's"
    given = text.dup
    payload = {list: [1]}
    logger.info(text, payload)
    text.replace("after")
    payload[:list] << 2
    one = record
    assert_equal [given, {"list" => [1]}], [one.text, one.payload]
  end

  test "a payload is given by keyword, as a Hash, or as both; with a block too" do
    log = logger(progname: "main")
    log.info("x", {a: 1}, b: 2)
    log.info("other", a: 1) { "text" }
    log.add(Logger::INFO, "y", nil, {c: 3})
    log.info(d: 4) { "lazy" }
    log.info({e: 5})
    log.info(f: 6)
    assert_equal [
      ["x", "main", {"a" => 1, "b" => 2}], ["text", "other", {"a" => 1}],
      ["y", "main", {"c" => 3}], ["lazy", "main", {"d" => 4}],
      [{e: 5}.inspect, "main", {"e" => 5}], [{f: 6}.inspect, "main", {"f" => 6}]
    ],
      records(6).map { |one| [one.text, one.prog, one.payload] }
  end

  test "an object that JSON refuses becomes its inspect" do
    cycle = []
    cycle << cycle
    logger.info("x", nan: Float::NAN, fine: 1, cycle: cycle, bytes: "\xFF".b)
    assert_equal({"nan" => "NaN", "fine" => 1, "cycle" => "[[...]]", "bytes" => '"\xFF"'},
      record.payload)
  end

  test "text that is no UTF-8 is made UTF-8" do
    log = logger
    ["gr\xFC\xDFe".b, "grüße".encode("ISO-8859-1"), "gr\xFC"].each { |text| log.info(text) }
    assert_equal ["gr\u{FFFD}\u{FFFD}e", "grüße", "gr\u{FFFD}"],
      records(3).map { |one| one.frames[2].force_encoding("UTF-8") }
  end

  test "a text over 64 KiB is cut, and says by how much; so is a payload" do
    log = logger
    ["x" * 70_000, "x#{"ü" * 40_000}", "z" * 65_536].each { |text| log.info(text) }
    log.info("p", blob: "y" * 100_000)
    *texts, last = records(4)
    assert_equal [
      "#{"x" * 65_536}...(cut 4464 bytes)", "x#{"ü" * 32_767}...(cut 14466 bytes)", "z" * 65_536
    ],
      texts.map(&:text)
    assert_match(/\A\{"blob":"y+\.\.\.\(cut \d+ bytes\)\z/, last.payload)
  end

  test "a name that is a text is cut" do
    log = logger(host: "h" * 2_000)
    log.info("\u{e9}" * 50_000) { "x" }
    log.info("\xFF" * 50_000) { "y" }
    one, two = records(2)
    assert_equal ["\u{e9}" * 512 + "...(cut 98976 bytes)", "h" * 1024 + "...(cut 976 bytes)"],
      [one.prog, one.host]
    assert_match(/\A\u{FFFD}{341}.*\.\.\.\(cut/, two.prog)
    assert_equal %w[x y], [one.text, two.text]
  end

  test "names without end get a new writer id, and accounts that hold" do
    log = logger
    shown = with_constants(Godwit::Logger.const_get(:SequenceCounter), MAX_STREAMS: 50) do
      log.info("first")
      assert log.flush(timeout: 5)
      51.times { |number| log.info("prog#{number}") { "x" } }
      log.info("last")
      records(53)
    end
    assert_operator shown.map(&:writer).uniq.size, :>, 1
    shown.group_by(&:writer).each_value { |ones| assert_equal (1..ones.size).to_a, ones.map(&:seq) }
  end
end
