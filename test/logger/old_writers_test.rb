# frozen_string_literal: true

require "test_helper"

# Programs written for rbczmq, whose ZMQ::Logger sends lines, beside programs that send records: one
# reader for both.
class OldLogWritersTest < Godwit::TestCase
  OLD = <<~RUBY
    require "godwit/compat/rbczmq"
    require "zmq"
    context = ZMQ::Context.new
    socket = context.connect(:PUSH, ARGV[0])
    socket.linger = 5_000
    log = ZMQ::Logger.new(socket)
    log.progname = "old"
    %w[debug info warn error fatal unknown].each do |name|
      log.public_send(name, "\#{name} of the old one")
    end
    log.error("two\\nlines")
    log.formatter =
      proc { |severity, _time, progname, message| "\#{progname} \#{severity}: \#{message}" }
    log.error("a shape of its own")
    log << "raw"
    context.destroy
  RUBY
  TEXTS =
    %w[debug info warn error fatal unknown].map { |name| "#{name} of the old one" } +
    ["two\nlines", "old ERROR: a shape of its own", "raw"]

  test "Reader reads them: level, program, process and time as the line says" do
    reader = own(Godwit::Logger::Reader.new("tcp://127.0.0.1:*"))
    child = start_child(OLD, [reader.last_endpoint])
    found = Array.new(TEXTS.size) { reader.recv(timeout: 10) }
    assert_child child.finish
    assert_equal TEXTS, found.map(&:text)
    assert found.all?(&:plain?)
    assert_equal [0, 1, 2, 3, 4, 5, 3, 5, 5], found.map(&:level)
    assert_equal [["old"] * 7, [nil] * 2], found.map(&:prog).partition(&:itself)
    assert_equal [child.pid], found.first(7).map(&:pid).uniq
    assert(found.first(7).all? { |record| (Time.now - record.time).abs < 60 })
    assert_match(/\AE, \[.* #\d+\] ERROR -- old: two\nlines\n\z/, found[6].to_s)
    assert_equal [TEXTS.size, TEXTS.size, 0, 0],
      [reader.received, reader.plain, reader.lost, reader.foreign]
  end
end
