# frozen_string_literal: true

require_relative "case"

# Rules for all classes: Enumerable, pattern matching, unknown keywords, bad values.
class EvenApiTest < Conformance::Case
  test "messages, records and errors match patterns" do
    message = Godwit::Message.new("address", "", "body")
    case message
    in [address, "", body] then assert_equal %w[address body], [address, body]
    end
    case message
    in {size: 3, content_size:, frames: [*, "body"]} then assert_equal 11, content_size
    end
    record =
      Godwit::Logger::Record.parse("E, [2026-11-20T12:31:07.123456 #42] ERROR -- billing: refused")
    case record
    in {label: "ERROR", prog: "billing", pid: 42, text:} then assert_equal "refused", text
    end
    assert_pattern(record) { |one| one in ["ERROR", "billing", "refused"] }
    error = assert_raises(Godwit::TimeoutError) { open_socket(:PULL).recv(timeout: 0) }
    assert_pattern(error) { |one| one in {operation: :recv, retriable: true, errno: Integer} }
    assert_pattern(error) { |one| one in [Class, /Timed out/] }
  end

  def assert_pattern(value) = assert(yield(value), value.inspect)

  test "Message#inspect shows sizes and first bytes" do
    shown = Godwit::Message.new("hello", "x" * 1000, "", "\xff".b).inspect
    assert_equal "#<Godwit::Message 5 bytes \"hello\", 1000 bytes \"#{"x" * 16}\"..., 0 bytes, 1 " \
      "bytes \"\\xFF\">",
      shown
  end

  {
    "PULL" => -> { Godwit::PULL.new(recv_hmw: 1) },
    "Context" => -> { Godwit::Context.new(io_thread: 1) },
    "Timers" => -> { Godwit::Timers.new(clok: 1) },
    "Beacon" => -> { Godwit::Beacon.new(5670, interfac: "x") },
    "Frame" => -> { Godwit::Frame.new("x", copy_treshold: 1) },
    "Logger" => -> { Godwit::Logger.new("tcp://127.0.0.1:1", quue: 1) },
    "Sink" => -> { Godwit::Logger::Sink.new("x", rotat: 1) },
    "View" => -> { Godwit::Logger::View.new(colr: true) },
    "Reader" => -> { Godwit::Logger::Reader.new("inproc://x", stat: "x") },
    "Control" => -> { Godwit::Logger::Control.new("inproc://x", timout: 1) },
    "Broadcaster" => -> { Godwit::Logger::Broadcaster.new("inproc://x", contrl: 1) }
  }.each do |name, make|
    test "#{name} refuses an unknown keyword, and names the nearest" do
      skip "the checks of types take the place of initialize" if ENV["GODWIT_TEST_TYPES"]
      error = assert_raises(ArgumentError, &make)
      assert_kind_of Godwit::Error, error
      assert_match(/did you mean \w+:?\?/, error.message)
    end
  end

  test "values beyond all raise Godwit's errors" do
    pull = open_socket(:PULL)
    recursive = []
    recursive << recursive
    {
      -> { pull.linger = 1e306 } => Godwit::OptionError,
      -> { Godwit::Timers.new.every(5e-324) { nil } } => Godwit::ArgumentValueError,
      -> { pull.bind("tcp://\xff:*") } => Godwit::Error,
      -> { open_poller.register(recursive) } => Godwit::ArgumentTypeError,
      -> { pull.monitor(recursive) } => Godwit::ArgumentValueError,
      -> { open_poller.register(pull, recursive) } => Godwit::ArgumentValueError
    }.each { |call, expected| assert_kind_of expected, assert_raises(Godwit::Error, &call) }
    assert_equal Godwit.has?("curve"), Godwit.has?("curve".encode("UTF-16LE"))
    assert_equal :PULL, own(context.socket("pull".encode("UTF-16LE"))).type
  end
end
