# frozen_string_literal: true

require "test_helper"
require_relative "served"

# Programs written for rbczmq, whose ZMQ::Logger sends lines, beside programs that send records: one
# reader for both.
class OldLogWritersTest < Godwit::TestCase
  include Served

  OLD = <<~RUBY
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

  def old_writer(endpoint, run: :run_child)
    __send__(run, "require 'godwit/compat/rbczmq'\n#{OLD}", [endpoint])
  end

  test "Reader reads them: level, program, process and time as the line says" do
    reader = own(Godwit::Logger::Reader.new("tcp://127.0.0.1:*"))
    child = old_writer(reader.last_endpoint, run: :start_child)
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

  test "serve writes them and tail shows them, chosen by level and program" do
    not_on :jruby, "the command line's processes would take a minute to start"
    file = "#{scratch_dir}/app.log"
    server, input, output = serve("--file", file)
    assert_child old_writer(input)
    new = own(Godwit::Logger.new(input, progname: "new"))
    new.error("of the new one")
    eventually do
      File.exist?(file) && File.read(file).include?("of the new one") &&
        File.read(file).include?("raw")
    end
    assert_equal TEXTS.size + 2, File.readlines(file).size # one record has two lines
    {["--level", "error+"] => ["error of the old one", "fatal of the old one",
      "unknown of the old one", "two lines", "old ERROR: a shape of its own", "raw",
      "of the new one"],
     ["--level", "warn"] => ["warn of the old one"],
     ["--prog", "old", "--level", "info"] => ["info of the old one"],
     ["--prog", "new"] => ["of the new one"]}.each do |options, texts|
      shown =
        assert_child(
          tail(
            output, control_of(server), *options, "--format", "%{text}", count: texts.size
          ).finish
        ).stdout
      assert_equal texts.sort, shown.gsub(/two\W+(n)?lines/, "two lines").lines(chomp: true).sort
    end
    assert_equal 0, server.signal(:TERM).finish.status.exitstatus
  end

  test "a broadcaster sends the level that a subscriber asks for, from old writers too" do
    broadcaster =
      own(Godwit::Logger::Broadcaster.new("tcp://127.0.0.1:*", "tcp://127.0.0.1:*").start)
    reader = own(Godwit::Logger::Reader.subscribe(broadcaster.output.first, level: "fatal"))
    all = own(Godwit::Logger::Reader.subscribe(broadcaster.output.first))
    probe = own(Godwit::Logger.new(broadcaster.input.first, progname: "probe"))
    # Both have subscribed when each has got something.
    eventually do
      probe.fatal("are you there")
      reader.recv(timeout: 0.05, exception: false) && all.recv(timeout: 0.05, exception: false)
    end
    assert_child old_writer(broadcaster.input.first)
    assert_equal "fatal of the old one",
      eventually { (record = reader.recv(timeout: 5)).plain? && record.text }
    eventually { all.recv(timeout: 5).text == "raw" }
    assert_nil reader
      .recv(timeout: 0, exception: false)
      &.then { |record| record.text unless record.text == "are you there" }
    broadcaster.close
  end
end
