# frozen_string_literal: true

require "test_helper"
require "zlib"
require "timeout"

# Strings in place while everything around them ends: nothing crashes, messages arrive unchanged,
# every String is released.
class ZeroCopyFireTest < Godwit::TestCase
  # A receiver of parts [checksum, data] in a separate process, so that the sender is free.
  RECEIVER = <<~RUBY
    require "godwit"
    require "zlib"
    pull = Godwit::PULL.bind("tcp://127.0.0.1:*", recv_hwm: 2)
    puts pull.last_endpoint
    good = 0
    wanted = nil
    until wanted && good >= wanted # the end may overtake, as it comes by a connection of its own
      message = pull.recv_message(timeout: 20)
      next wanted = message.first.to_s.to_i if message.size == 1
      sum, data = message.frames
      abort "corrupted" unless sum.to_s.to_i == Zlib.crc32(data.to_s)
      good += 1
    end
    puts "good \#{good}"
  RUBY

  SENDER = <<~RUBY
    require "godwit"
    require "zlib"
    require "timeout"
    def data(number) = (number.chr.b * (100_000 + number)).freeze
    def parts(number) = data(number % 256).then { |bytes| [Zlib.crc32(bytes).to_s, bytes] }
    def pins = Godwit::Tracker.__send__(:_pins).first
    def released(what) = await("\#{what}: Strings are still held") { pins.zero? }
    endpoint = ARGV[0]
  RUBY

  # @return [Integer] how many good messages arrived
  def receive(sender, least:)
    receiver = start_child(RECEIVER, deadline: 40)
    receiver.wait_for(/^tcp:\S+$/)
    result = run_child("#{SENDER}\n#{sender}", [receiver.stdout[/^tcp:\S+/]], deadline: 30)
    assert_child result
    ender = open_socket(:PUSH).connect(receiver.stdout[/^tcp:\S+/])
    ender.send(least.to_s)
    outcome = receiver.finish
    assert_child outcome
    good = outcome.stdout[/good (\d+)/, 1].to_i
    assert_operator good, :>=, least
    good
  end

  test "a sender forks with frames in flight; the child sends its own and exits" do
    assert_equal 100, receive(<<~RUBY, least: 100)
      push = Godwit::PUSH.connect(endpoint, send_hwm: 0)
      50.times { |number| push.send(parts(number)) }
      child = fork do
        GC.start
        GC.compact
        other = Godwit::PUSH.connect(endpoint, send_hwm: 0)
        10.times { |number| other.send(parts(number)) }
      end
      40.times { |number| push.send(parts(100 + number)) }
      _, status = Process.wait2(child)
      abort "the child: \#{status}" unless status.success?
      push.close
      released("after fork")
    RUBY
  end

  test "a sender raises, is killed and timed out in mid-send" do
    receive(<<~RUBY, least: 20)
      Thread.report_on_exception = false
      push = Godwit::PUSH.connect(endpoint, send_hwm: 1)
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
      released("after kills")
    RUBY
  end

  test "a sender closes its socket, and shuts its context down, with frames in flight" do
    receive(<<~RUBY, least: 0)
      10.times do |round|
        context = Godwit::Context.new(linger: 0)
        push = Godwit::PUSH.connect(endpoint, context: context, send_hwm: 0)
        30.times { |number| push.send(parts(number)) }
        GC.start
        round.odd? ? push.close : context.shutdown
        context.close
      end
      released("after close and shutdown")
    RUBY
  end

  test "a frozen String is garbage right after send, under compaction, with four threads" do
    assert_equal 400, receive(<<~RUBY, least: 400)
      push = Godwit::PUSH.connect(endpoint, send_hwm: 10)
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
      released("after compaction")
    RUBY
  end
end
