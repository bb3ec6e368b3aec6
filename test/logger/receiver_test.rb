# frozen_string_literal: true

require_relative "durable"

# Logger::Receiver, and a broadcaster with `durable:`, without crashes.
class LoggerReceiverTest < Godwit::TestCase
  include LoggerTests::Durable

  Packing = Godwit::Logger.const_get(:Packing)
  SegmentedLog = Godwit::Logger.const_get(:SegmentedLog)
  Wire = Godwit::Logger.const_get(:Wire)

  # Sends a HELLO of the wire protocol, and returns the answer.
  def hello(dealer, key, seq)
    dealer << [Wire::HELLO, key, Wire.number(seq), Wire.number(Wire::VERSION)]
    answer(dealer)
  end

  def data(dealer, key, before, *seqs)
    entries = seqs.map do |seq|
      frames = record("record #{seq}", seq: seq, writer: key.unpack1("H*")).frames
      SegmentedLog.entry(seq, Packing.pack(*frames))
    end
    dealer << [Wire::DATA, key, Wire.number(before), entries.join]
    answer(dealer)
  end

  def answer(dealer)
    verb, key, value = dealer.recv(timeout: 5)
    [verb, key, Wire.value(value)]
  end

  test "the wire: a repeated record is written once, a missing one is requested" do
    open_receiver
    dealer = open_socket(:DEALER).connect(@receiver.last_endpoint)
    key = "k" * 16
    assert_equal [Wire::WHAT, key, 0], data(dealer, key, 0, 1), "unknown"
    assert_equal [Wire::WELCOME, key, 0], hello(dealer, key, 0)
    assert_equal [Wire::ACK, key, 3], data(dealer, key, 0, 1, 2, 3)
    assert_equal [Wire::ACK, key, 4], data(dealer, key, 1, 2, 3, 4)
    assert_equal [Wire::WHAT, key, 4], data(dealer, key, 7, 8), "5 to 7 are missing"
    assert_equal [Wire::ACK, key, 9], data(dealer, key, 4, 6, 9), "5, 7, 8: the writer dropped them"
    assert_equal [Wire::ACK, key, 9], data(dealer, key, 4, 6, 9)
    assert_equal [Wire::WELCOME, key, 9], hello(dealer, key, 2)
    assert_equal [Wire::WELCOME, key, 20], hello(dealer, key, 20), "another receiver had them"
    assert_equal ["other".ljust(16), 5], hello(dealer, "other".ljust(16), 5).drop(1)
    assert_equal [1, 2, 3, 4, 6, 9].map { |seq| "record #{seq}" }, texts
    assert_equal 4, @receiver.stats.again
  end

  test "the wire: foreign messages are counted, and harm nothing" do
    open_receiver
    dealer = open_socket(:DEALER).connect(@receiver.last_endpoint)
    key = "k" * 16
    random = Random.new(3)
    foreign = [
      ["x"], [""], ["D"], ["D", key], ["D", key, "1"], ["D", "short", Wire.number(0), ""],
      ["?", key, Wire.number(0)], %w[a b c d e]
    ]
    foreign += Array.new(100) { Array.new(random.rand(1..5)) { random.bytes(random.rand(20)) } }
    foreign.each { |message| dealer << message }
    assert_equal [Wire::WELCOME, key, 0], hello(dealer, key, 0)
    assert_equal foreign.size, @receiver.stats.foreign
    entry = SegmentedLog.entry(2, "no record")
    entries = SegmentedLog.entry(1, "") + entry + entry.byteslice(0, 10) + "rubbish"
    dealer << [Wire::DATA, key, Wire.number(0), entries]
    assert_equal [Wire::ACK, key, 2], answer(dealer)
    assert_equal 2, lines.size
    assert_equal [Wire::ACK, key, 3], data(dealer, key, 2, 3)
  end

  test "a broadcaster with durable writers needs a Sink of a regular file" do
    writing = Object.new
    def writing.write(_) = nil
    [nil, writing, keep(Sink.new(File::NULL))].each do |sink|
      options = {durable: endpoint_for(:tcp), sink: sink, context: context}
      assert_raises(Godwit::ArgumentTypeError, Godwit::ArgumentValueError, sink.inspect) do
        Godwit::Logger::Broadcaster.new(nil, nil, **options)
      end
    end
    context.close # the close would wait for a socket that is still open
  end

  test "the receiver survives unexpected errors: the records come again" do
    open_receiver
    raising = ->(_) { raise "no" }
    log = open_log
    _, said = capture_io do
      @receiver.sink.stub(:write_durable, raising) do
        log.info("first")
        eventually { @receiver.stats.last_error }
      end
      assert_flushed(log)
    end
    log.info("second")
    assert_flushed(log)
    assert_equal %w[first second], texts
    assert_equal "no", @receiver.stats.last_error.message
    assert_match(/app\.log: no \(RuntimeError\)/, said)
  end

  test "receiver.close and then sink.close, as documented, leave the journal to the next; so " \
    "does a receiver that could not begin" do
    2.times do
      sink = Sink.new(file)
      receiver = Receiver.new(endpoint_for(:tcp), sink, context: context)
      assert_raises(Godwit::BusyError) { Receiver.new(endpoint_for(:tcp), sink, context: context) }
      receiver.close
      sink.close
      assert_predicate receiver.sink, :closed?
    end
    sink = keep(Sink.new(file))
    assert_raises(Godwit::EndpointError) { Receiver.new("nonsense", sink, context: context) }
    assert_raises(Godwit::AddressInUseError) do
      taken = open_socket(:PULL).bind(endpoint_for(:tcp))
      Receiver.new(taken.last_endpoint, sink, context: context)
    end
    keep(Receiver.new(endpoint_for(:tcp), sink, context: context)).close
    context.close # the close would wait for a socket that is still open
  end
end
