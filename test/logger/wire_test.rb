# frozen_string_literal: true

require_relative "../test_helper"
require "godwit/logger"

# The test vectors of docs/log-wire.md hold for the library.
class LoggerWireTest < Godwit::TestCase
  PAGE = File.read(File.expand_path("../../docs/log-wire.md", __dir__), encoding: "UTF-8")
  VECTORS =
    PAGE.scan(/^```json\n(.*?)^```$/m).flatten.flat_map(&:lines).map { |line| JSON.parse(line) }
  Record = Godwit::Logger::Record

  # @return [Array<Hash>] the entries with this key
  def vectors(key) = VECTORS.select { |vector| vector.key?(key) }.tap { |found| refute_empty found }

  test "topics" do
    vectors("topic").each do |vector|
      level, prog, host, topic = vector.values_at("level", "prog", "host", "topic")
      built = Godwit::Logger.const_get(:Topic).build(level, prog, host)
      assert_equal [topic.b, Encoding::BINARY], [built, built.encoding]
    end
  end

  test "records, as any kind of String" do
    vectors("frames").each do |vector|
      frames = vector["frames"].map(&:b)
      [frames, frames.map(&:freeze), (frames.first if frames.size == 1)].compact.each do |message|
        record = Record.parse(message) or flunk "#{message} is no record"
        vector.except("frames")
          .each { |name, value| assert_equal [name, value], [name, record.public_send(name)] }
        assert_equal frames, record.frames
      end
    end
  end

  test "foreign messages" do
    vectors("foreign").each do |vector|
      message = vector["foreign"].map(&:b)
      assert_nil Record.parse(message), vector["foreign"].last
      assert_empty Record.parse_all(message)
    end
  end

  test "a batch" do
    packing = Godwit::Logger.const_get(:Packing)
    vectors("batch").each do |vector|
      mark, digits = vector["batch"]
      records = vector["records"].map { |frames| frames.map(&:b) }
      assert_equal records, packing.split([mark.b, [digits].pack("H*")])
    end
    frames = vectors("frames").first["frames"].map(&:b)
    batch, = packing.join([packing.pack(*frames)] * 2, 0, 1 << 16)
    assert_equal [frames] * 2, Record.parse_all(["godwit-log-batch", batch]).map(&:frames)
    assert_equal [["a line"]], Record.parse_all("a line").map(&:frames)
  end

  test "questions and answers" do
    input, control = endpoint_for(:inproc), endpoint_for(:inproc)
    Godwit::Logger::Broadcaster.new(input, control: control, context: context) do |broadcaster|
      broadcaster.start
      records = vectors("frames").values_at(0, -1).map { |vector| vector["frames"].map(&:b) }
      open_socket(:PUSH).connect(input).send_many(records)
      eventually { broadcaster.last.size == 2 }
      %i[REQ DEALER].each do |type|
        asker = open_socket(type).connect(control)
        vectors("question").each do |vector|
          asker.send(vector["question"].b)
          assert_equal vector["answer"].map(&:b), asker.recv_multipart(timeout: 5).map(&:b)
        end
        assert_equal 2, JSON.parse(asker.send('{"ask":"stats"}').recv(timeout: 5))["messages"]
      end
    end
  end

  test "the page names the header's keys, in the order in which they are written" do
    table = PAGE[/^\| key \|.*\n\| ---.*\n((?:\|.*\n)+)/, 1]
    assert_equal Record::KEYS,
      table.lines.flat_map { |line| line.split("|")[1].scan(/`(\w+)`/) }.flatten
    keys = JSON.parse(vectors("frames").first["frames"][1]).keys
    assert_equal Record::KEYS & keys, keys
  end
end
