# frozen_string_literal: true

require_relative "stress_case"

# Many threads and fibers wait on one PULL. A message is sent only after the previous message was
# received. After a lost wake-up the test stops: Godwit does not poll again by itself.
class SlowFeedTest < Godwit::StressCase
  THREADS = 6
  FIBERS = 6

  each_transport "each message is taken at once" do |transport|
    feed(messages(4_000), transport)
  end

  # The calls of the meddlers consume edges that the waiting receivers need.
  test "each message is taken at once while others use the socket otherwise" do
    feed(messages(4_000), :tcp) do
      meddler { @pull.events }
      meddler { @pull.recv_hwm }
      meddler { @pull.wait_readable(0.001) }
      meddler { took(@pull.recv_nonblock(exception: false)) }
      meddler { @pull.bind(endpoint_for(:inproc)).then { |pull| pull.unbind(pull.last_endpoint) } }
    end
  end

  # A waiter that is killed after its wake-up must pass the wake-up to another waiter.
  test "each message is taken at once while waiters are killed, raised at and timed out" do
    replacing = true
    replacer = nil
    feed(messages(4_000), :tcp) do
      replacer = in_thread do
        random = Random.new(SEED)
        replace_one(random) while replacing && !@stop
      end
    end
    replacing = false
    replacer.join # TestCase then joins the threads in which the replacer raised
  end

  def teardown
    @stop = true
    [@pull, @push].each { |socket| socket&.close }
  end

  # Sends `count` messages, each after a waiter has received the previous message.
  def feed(count, transport)
    @pull, @push = connected_pair(:PULL, :PUSH, transport: transport)
    @waiters = Array.new(THREADS) { waiter }
    in_fibers(FIBERS) { wait_in_fiber }
    yield if block_given?
    count.times do |number|
      @push.send(number.to_s)
      assert_equal number.to_s, @taken.pop
    end
  end

  def replace_one(random)
    Thread.pass
    index = random.rand(THREADS)
    thread = @waiters[index]
    random.rand(2).zero? ? thread.kill : thread.raise(Retry)
    thread.join
  rescue Retry
    nil # Retry was raised before the waiter had begun
  ensure
    @waiters[index] = waiter(random.rand(2).zero? ? random.rand(0.003) : nil)
  end

  def waiter(timeout = nil)
    in_thread do
      Thread.handle_interrupt(MASK) { wait_in_fiber(timeout) }
    rescue Retry
      nil
    end
  end

  def wait_in_fiber(timeout = nil)
    quietly { took(@pull.recv(timeout: timeout, exception: false)) until @stop }
  end
end
