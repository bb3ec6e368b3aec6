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
end
