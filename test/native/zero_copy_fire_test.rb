# frozen_string_literal: true

require "test_helper"

# Strings that libzmq sends in place, while senders, sockets and contexts end: nothing crashes,
# messages arrive unchanged, and every String is released.
class ZeroCopyFireTest < Godwit::TestCase
  # A thread checks each message: [checksum, data].
  PRELUDE = <<~'RUBY'
    require "godwit"
    require "timeout"
    require "zlib"
    pull = Godwit::PULL.bind("tcp://127.0.0.1:*", recv_hwm: 2)
    ENDPOINT = pull.last_endpoint
    $good = 0
    Thread.new do
      loop do
        sum, data = pull.recv_message.frames
        abort "corrupted" unless sum.to_s.to_i == Zlib.crc32(data.to_s)
        $good += 1
      end
    end

    def connect(**options) = Godwit::PUSH.connect(ENDPOINT, **options)

    def parts(number)
      data = ((number % 256).chr.b * (100_000 + number % 256)).freeze
      [Zlib.crc32(data).to_s, data]
    end

    # Waits until every String is released, and so many messages have arrived.
    def finish(least)
      await("Strings are still held") { Godwit::Tracker.__send__(:_pins).first.zero? }
      await("fewer than #{least} messages arrived") { $good >= least }
    end
  RUBY

  test "a sender forks with frames in flight; the child sends its own and exits" do
    assert_done(<<~RUBY)
      push = connect(send_hwm: 0)
      50.times { |number| push.send(parts(number)) }
      child = fork do
        GC.start
        GC.compact
        other = connect(send_hwm: 0)
        10.times { |number| other.send(parts(number)) }
      end
      40.times { |number| push.send(parts(100 + number)) }
      _, status = Process.wait2(child)
      abort "the child: \#{status}" unless status.success?
      push.close
      finish(100)
    RUBY
  end

  test "a sender raises, is killed and timed out in mid-send" do
    assert_done(<<~RUBY)
      Thread.report_on_exception = false
      push = connect(send_hwm: 1)
      10.times do |round|
        threads = [
          Thread.new { 20.times { |number| push.send(parts(number)) } },
          Thread.new { 20.times { |number| push.send(parts(50 + number)) } },
          Thread.new { Timeout.timeout(0.01) { loop { push.send(parts(round)) } } }
        ]
        threads[1].raise("stop") if threads[1].join(0.005).nil?
        threads[0].kill if round.odd?
        # The error may come before the thread has begun, or as it ends.
        threads.each { |thread| begin; thread.join; rescue RuntimeError, Timeout::Error; end }
        GC.compact
      end
      push.close
      finish(20)
    RUBY
  end

  test "a sender closes its socket, and shuts its context down, with frames in flight" do
    assert_done(<<~RUBY)
      10.times do |round|
        context = Godwit::Context.new(linger: 0)
        push = connect(context: context, send_hwm: 0)
        30.times { |number| push.send(parts(number)) }
        GC.start
        round.odd? ? push.close : context.shutdown
        context.close
      end
      finish(0)
    RUBY
  end

  test "a frozen String is garbage right after send, under compaction, with four threads" do
    assert_done(<<~RUBY)
      push = connect(send_hwm: 10)
      threads = Array.new(4) do |thread|
        Thread.new { 100.times { |number| push.send(parts(thread * 50 + number)) } }
      end
      while threads.any?(&:alive?)
        GC.start(full_mark: false)
        GC.compact
        Array.new(10) { "garbage" * 20_000 }
        Thread.pass
      end
      threads.each(&:join)
      push.close
      finish(400)
    RUBY
  end
end
