# frozen_string_literal: true

require "test_helper"
require "godwit/logger"

# Writers, broadcaster, sink and readers together.
class LoggerPipelineTest < Godwit::TestCase
  def logger(endpoint, **options) = own(Godwit::Logger.new(endpoint, linger: 5, **options))

  def account(accounts, prog) = accounts.find { |one| one.prog == prog }

  test "the records that a writer dropped are the records that its reader misses" do
    reader = own(Godwit::Logger::Reader.new("tcp://127.0.0.1:*", context: context, recv_hwm: 10))
    log = logger(reader.last_endpoint, progname: "flood", queue: 50, send_hwm: 10)
    made = 8_000
    made.times { |i| log.info("#{i} #{"x" * 1_000}") }
    closing = in_thread { log.close }
    last = nil
    while closing.alive? || reader.received < log.stats.sent
      last = reader.recv(timeout: 0.2, exception: false) || last
    end
    dropped = log.stats.dropped
    one = account(reader.writers, "flood")
    assert_operator dropped, :>, 0
    assert_equal "WARN", last.label # "dropped 12 in 0.5 s"
    assert_equal [last.seq, dropped], [one.received + one.lost, one.lost]
    assert_operator one.last, :>=, made
  end

  test "through a broadcaster, filtered there: each reader gets its part, no reader misses a " \
    "record" do
    records = Queue.new
    sink = Object.new
    sink.define_singleton_method(:write) { |batch| batch.each { |record| records << record } }
    relay =
      Godwit::Logger::Broadcaster.new(
        "tcp://127.0.0.1:*", "tcp://127.0.0.1:*", control: "tcp://127.0.0.1:*", last: 5_000,
        sink: sink, context: context
      ).start
    readers =
      [{}, {level: "error+"}, {prog: "b", level: "info"}].map do |choice|
        own(Godwit::Logger::Reader.subscribe(relay.output.first, context: context, **choice))
      end
    probe = logger(relay.input.first, progname: "b")
    readers.each do |reader|
      eventually do
        probe.add(3, "ready") && probe.info("ready") && reader.recv(timeout: 0.05, exception: false)
      end
    end
    logs = %w[a b.c b].map { |name| logger(relay.input.first, progname: name) }
    600.times { |i| logs.each { |log| log.add(i % 4, "made #{i}") } }
    counts = [1_800, 450, 150].zip(readers).map do |count, reader|
      texts = reader.lazy.map(&:text).select { |text| text.start_with?("made") }.first(count)
      [texts.size, reader.lost, reader.late]
    end
    assert_equal [[1_800, 0, 0], [450, 0, 0], [150, 0, 0]], counts
    control = own(Godwit::Logger::Control.new(relay.control.first, context: context))
    statistics = control.statistics
    assert_equal [0, 0, 0], statistics.values_at("lost", "late", "foreign")
    assert_equal [600, 600],
      statistics["accounts"]
        .select { |one| %w[a b.c].include?(one["prog"]) }
        .map { |one| one["received"] }
    assert_equal(
      ["made 591", "made 595", "made 599"], control.last(3, level: "error", prog: "b.c").map(&:text)
    )
    relay.close
    assert_equal relay.statistics["records"], records.size
  ensure
    relay&.close
  end
end
