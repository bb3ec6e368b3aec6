# frozen_string_literal: true

require "test_helper"
# Async would print each task that ends with an error; the tests check the tasks themselves.
ENV["CONSOLE_LEVEL"] ||= "fatal"
require "async" if Fiber.respond_to?(:set_scheduler) && Godwit::BACKEND == :native
require "zlib"

module Godwit
  # Shared by the stress tests. GODWIT_STRESS_MESSAGES sets the number of messages, and
  # GODWIT_STRESS_SEED the seed. `rake stress` and `rake stress:rounds` run the long forms.
  class StressCase < TestCase
    SEED = Integer(ENV.fetch("GODWIT_STRESS_SEED") { Random.new_seed % 0xFFFFFF })
    MESSAGES = ENV.fetch("GODWIT_STRESS_MESSAGES") { TestSupport::Length.of(40_000, long: 100_000) }
    SCALE = Float(MESSAGES) / 100_000
    PATIENCE = HANG # seconds without progress after which a test fails

    deadline [60 * SCALE, 90].max

    # With this mask interrupts come only in waits, so that a killed worker knows whether its
    # message was sent.
    MASK = {Object => :on_blocking}.freeze

    Retry = Class.new(StandardError)

    private

    def setup
      @random = Random.new(SEED)
      @taken = Thread::Queue.new # messages that workers received
      @stop = false
    end

    # @return [Integer] `normal`, scaled by GODWIT_STRESS_MESSAGES; at least 50
    def messages(normal) = [(normal * SCALE).to_i, 50].max

    # Runs the block in fibers of a new thread, each with its number. On the FFI backend, where a
    # wait blocks its thread, runs it in threads.
    def in_fibers(count, &work)
      return count.times { |number| in_thread { work.call(number) } } unless defined?(Async)
      in_thread { Async { |task| count.times { |number| task.async { work.call(number) } } } }
    end

    # Repeats the block in a thread, to the end of the test.
    def meddler
      in_thread do
        quietly do
          until @stop
            yield
            Thread.pass
          end
        end
      end
    end

    def quietly
      yield
    rescue Godwit::ClosedError
      raise unless @stop
    end

    # @param message [Object] a received message, or the call's result when it received none
    def took(message)
      @taken << message if message.is_a?(String)
    end

    def failed(message) = flunk("#{message} (GODWIT_STRESS_SEED=#{SEED})")

    # @return [String, Array<String>] a message of random size and number of frames. Its first 16
    #   bytes are its number, the number of the other frames, and a checksum.
    def compose(number, random)
      frames =
        random.rand(2).zero? ? [] : Array.new(random.rand(1..8)) { random.bytes(size(random)) }
      body = random.bytes(size(random))
      head = [number, frames.size, Zlib.crc32(frames.join("|"), Zlib.crc32(body))].pack("Q>NN")
      frames.empty? ? head + body : [head + body, *frames]
    end

    def size(random)
      case random.rand(100)
      when 0 then 20_000
      when 1..20 then 0
      else random.rand(100)
      end
    end

    # Raises unless the message is whole.
    # @return [Integer] its number
    def number_of(message)
      first, *frames = message
      number, count, sum = first.unpack("Q>NN")
      whole =
        count == frames.size &&
        sum == Zlib.crc32(frames.join("|"), Zlib.crc32(first.byteslice(16..)))
      whole ? number : raise("torn: #{frames.size} of #{count} frames, #{message.inspect[0, 200]}")
    end

    # Fails unless each number came exactly once.
    def assert_each_once(total, logs)
      counts = Array.new(total, 0)
      logs.each { |log| log.each { |number| counts[number] += 1 } }
      lost = counts.each_index.select { |number| counts[number].zero? }
      doubled = counts.each_index.select { |number| counts[number] > 1 }
      if lost.any? || doubled.any?
        failed(
          "lost: #{lost.first(10)} (#{lost.size}), doubled: #{doubled.first(10)} (#{doubled.size})"
        )
      end
      assert_equal total, counts.sum
    end

    # Waits until the block's value reaches `total`. Fails when the value does not change for
    # PATIENCE seconds.
    def until_reached(total)
      last = -1
      since = monotonic
      while (now = yield) < total
        failed("no progress at #{now} of #{total}: #{stuck}") if monotonic - since > PATIENCE
        since = monotonic unless now == last
        last = now
        sleep(POLL)
      end
    end

    def stuck
      Thread
        .list
        .map { |thread| "#{thread.inspect} #{thread.backtrace&.grep(/godwit|stress/)&.first}" }
        .join("\n")
    end
  end
end
