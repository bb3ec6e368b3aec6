# frozen_string_literal: true

require "test_helper"
require "logger/logs"

# How long a logger holds up its callers, and the end of its process.
class LoggerTimingTest < Godwit::TestCase
  include Godwit::TestSupport::Logs

  SAY_WHEN = "at_exit { $stdout.syswrite(Process.clock_gettime(Process::CLOCK_MONOTONIC).to_s) }"
  MOST_SECONDS = 50e-6

  test "with nobody there a process ends within linger and 0.3 s, durable or not" do
    ["", ", durable: '#{scratch_dir}/durable'"].each do |options|
      assert_ends_within(0.5 + 0.3, "Godwit::Logger.new('#{nowhere}', linger: 0.5#{options}).info('x')")
    end
  end

  test "several loggers, nobody there: one linger for all" do
    assert_ends_within(1 + 0.5, "5.times { |number| Godwit::Logger.new('#{nowhere}' + number.to_s, linger: 1).info('x') }")
  end

  test "a thread that logs on has the process wait for linger once" do
    assert_ends_within(1 + 0.5, <<~RUBY)
      log = Godwit::Logger.new("#{nowhere}", linger: 1)
      Thread.new { loop { log.info("x") && sleep(0.001) } }
      Thread.pass until log.stats.queued > 50
    RUBY
  end

  test "block_timeout: and linger: are what a caller waits, whether nobody comes or the reader is stuck" do
    stuck = open_socket(:PULL, recv_hwm: 1, recv_buffer_size: 4096).bind(endpoint_for(:tcp)).last_endpoint
    [nowhere, stuck].each do |endpoint|
      log = logger(endpoint, overflow: :block, block_timeout: 0.3, queue: 10, linger: 0.5, send_hwm: 1)
      may_lose
      log.info("x" * 10_000) until log.stats.dropped.positive?
      took = Array.new(3) { seconds { log.info("x") } }
      assert_includes 0.29..0.4, took.sort[1], endpoint
      capture_io { assert_includes 0.45..0.8, seconds { log.close }, endpoint }
    end
  end

  test "`log serve` ends within a second of TERM, whether it has somebody to serve or not" do
    [0, 1].each do |readers|
      child = start_command(["sh", "-c", 'exec "$@" 2>&1', "-", RbConfig.ruby, "-W", "-Ilib", "exe/godwit", "log", "serve", "--in", "tcp://:*", "--out", "tcp://:*"])
      said = child.wait_for(/^godwit: in .*\n/).stdout
      readers.times do
        sub = open_socket(:SUB, subscribe: "").connect(said[/out (\S+?),/, 1])
        push = open_socket(:PUSH).connect(said[/in (\S+?),/, 1])
        eventually { push.send_nonblock("line", exception: false) && sub.recv(timeout: 0.01, exception: false) }
      end
      assert_operator seconds { child.signal(:TERM).finish }, :<, 1.0
    end
  end

  test "`log serve` ends within a second of TERM, too, when nobody reads its standard output" do
    fifo = "#{scratch_dir}/fifo"
    File.mkfifo(fifo)
    own(File.open(fifo, File::RDONLY | File::NONBLOCK))
    child = start_command(["sh", "-c", "exec \"$@\" 2>&1 >#{fifo}", "-", RbConfig.ruby, "-W", "-Ilib", "exe/godwit", "log", "serve", "--in", "tcp://:*", "--file", "-"])
    push = open_socket(:PUSH, send_hwm: 100).connect(child.wait_for(/^godwit: in .*\n/).stdout[/in (\S+?),/, 1])
    nil while push.send("x" * 1_000, timeout: 0.5, exception: false)
    assert_operator seconds { child.signal(:TERM).finish }, :<, 1.0
  end

  test "a call costs little while nobody reads and the queue is full" do
    result = assert_child(run_child(<<~RUBY))
      require "godwit"
      log = Godwit::Logger.new("#{nowhere}", linger: 0).tagged("req-9")
      100_000.times { log.info("x" * 100, user: 1, amount: "12.5") }
      took = Array.new(10_000) { start = now; log.info("x" * 100, user: 1, amount: "12.5"); now - start }
      p took.sort[9_900]
    RUBY
    assert_operator Float(result.stdout), :<, MOST_SECONDS
  end

  test "a mute socket costs a caller no wait" do
    pull = open_socket(:PULL, recv_hwm: 10).bind(endpoint_for(:inproc))
    log = logger(pull.last_endpoint, queue: 10, send_hwm: 10, context: context, linger: 0)
    may_lose
    room = log.instance_variable_get(:@handle).writer.instance_variable_get(:@room)
    log.info("x") until log.stats.dropped.positive?
    eventually { log.info("x") && room.mute? }
    assert_operator seconds { 1_000.times { log.info("x") } }, :<, 1
  end

  test "a broadcaster stops at once" do
    relay = own(Godwit::Logger::Broadcaster.new("tcp://127.0.0.1:*", "tcp://127.0.0.1:*", context: context))
    running = in_thread { relay.run }
    eventually { relay.running? }
    assert_operator seconds { relay.stop && running.value }, :<, 0.5
  end

  private

  # From the end of the program to the end of the process.
  def assert_ends_within(seconds, source)
    result = assert_child(run_child("require 'godwit'\n#{SAY_WHEN}\n$stderr.reopen(File::NULL)\n#{source}"))
    assert_operator monotonic - Float(result.stdout), :<, seconds
  end
end
