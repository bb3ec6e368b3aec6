# frozen_string_literal: true

require_relative "logs"

# Errors in the sender's thread are reported once and counted, and the thread continues.
class LoggerSenderTest < Godwit::TestCase
  include Godwit::TestSupport::Logs

  test "an error costs a batch, which is counted and reported; the next one is sent" do
    log = logger
    transport = writer_of(log).instance_variable_get(:@transport)
    failing = true
    transport.define_singleton_method(:deliver) do |*arguments|
      failing ? raise(IOError, "the disk is on fire") : super(*arguments)
    end
    _, said = capture_io do
      3.times do
        assert_equal true, log.info("x")
        assert log.flush(timeout: 5)
      end
    end
    assert_equal ["godwit: log to #{record_pull.last_endpoint}: the disk is on fire (IOError)\n"],
      said.lines
    assert_equal [3, "the disk is on fire"], [log.stats.dropped, log.stats.last_error.message]
    failing = false
    log.info("survived")
    assert_equal "survived", record.text
    may_lose # the report of the three losses may stay unsent
  end

  test "a killed sender has no successor while no thread can start: the next record starts one" do
    log = logger
    log.info("before")
    assert_equal "before", record.text
    refused = 0
    writer = writer_of(log)
    writer.define_singleton_method(:spawn) do
      ((refused += 1) == 1) ? raise(ThreadError, "can't create Thread") : super()
    end
    assert_raises(ThreadError) { writer.instance_variable_get(:@thread).kill.join }
    log.info("after")
    assert_equal ["after", 2], [record.text, refused]
  end

  test "a record that cannot be encoded costs only itself" do
    may_lose
    log = logger
    writer_of(log).define_singleton_method(:encode) do |entry|
      (entry[4] == "bad") ? raise("no") : super(entry)
    end
    _, said = capture_io do
      %w[one bad two].each { |text| log.info(text) }
      assert log.flush(timeout: 5)
    end
    assert_equal [%w[one two], 1], [records(2).map(&:text), log.stats.dropped]
    assert_match(/no \(RuntimeError\)/, said)
  end

  test "the program closes the context that it gave: the logger continues in its own context" do
    given = Godwit::Context.new
    log = logger(context: given)
    log.info("1")
    assert_equal "1", record.text
    given.close
    log.info("2")
    assert_equal "2", record.text
  end

  test "a reader that goes and returns: records logged in between arrive" do
    endpoint = "ipc://#{scratch_dir}/reader"
    log = logger(endpoint, reconnect_interval: 0.01)
    first = RecordPull.new(open_socket(:PULL).bind(endpoint))
    log.info("1")
    assert_equal "1", first.recv(timeout: 5).last
    first.close
    5_000.times { |number| log.info("while away #{number}") }
    second = nil
    eventually do
      second = RecordPull.new(open_socket(:PULL).bind(endpoint))
    rescue Godwit::AddressInUseError
      nil # libzmq has not yet closed the first socket
    end
    arrived = [second.recv(timeout: 5).last[/\d+/].to_i]
    arrived << second.recv(timeout: 5).last[/\d+/].to_i until arrived.last == 4_999
    # Messages that libzmq had assigned to the first connection, before libzmq noticed the end of
    # that connection, are lost.
    assert_equal (arrived.first..4_999).to_a, arrived
    assert_operator arrived.first, :<, 4_999
  end

  test "a child of a logger that binds cannot bind: it reports this, counts, and keeps running" do
    not_on :ffi, "a forked child cannot use it"
    result = assert_child(run_child(<<~RUBY))
      require "godwit"
      log = Godwit::Logger.new("ipc://#{scratch_dir}/bound", bind: true, linger: 0.1)
      pid = fork do
        log.info("x")
        log.flush(timeout: 5)
        p log.stats.dropped, log.stats.last_error.class
        log.close
      end
      Process.wait(pid)
      exit $?.exitstatus
    RUBY
    assert_equal "1\nGodwit::ForkedError\n", result.stdout
    assert_match(/the parent process is bound to it/, result.stderr)
  end

  test "a logger in a thread with a fiber scheduler: logging waits for nothing" do
    not_on :jruby, "JRuby has no fiber scheduler"
    log = logger
    thread = Godwit::TestSupport::TinyScheduler.thread do
      10.times { |number| Fiber.schedule { log.tagged(number) { 10.times { log.info("x") } } } }
    end
    thread.join
    assert_equal (0...10).flat_map { |number| [[number]] * 10 }, records(100).map(&:tags).sort
  end

  test "at its end it reports possible losses: the queue, and messages that libzmq holds for a " \
    "stalled reader" do
    full = open_socket(:PULL, recv_hwm: 1, recv_buffer_size: 4096).bind("tcp://127.0.0.1:*")
    log = Godwit::Logger.new(full.last_endpoint, linger: 0.1, send_hwm: 10)
    log.info("connected")
    assert log.flush(timeout: 5)
    10_000.times { log.info("x" * 1000) }
    _, said = capture_io { log.close }
    assert_match(
      /: \d+ records not sent; some of the last \d+ records may not have been sent\n\z/, said
    )
  end
end
