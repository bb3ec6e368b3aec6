# frozen_string_literal: true

require_relative "stress_case"

# Sends a message to one of a poller's sockets; the next message waits until a thread has received
# this one. After a lost wake-up the test stops: Godwit does not poll again by itself.
class PollerStressTest < Godwit::StressCase
  SOCKETS = 5
  TRANSPORTS = %i[tcp inproc ipc].freeze

  def setup
    super
    @pairs =
      Array.new(SOCKETS) do |number|
        connected_pair(:PULL, :PUSH, transport: TRANSPORTS[number % TRANSPORTS.size])
      end
    @pulls = @pairs.map(&:first)
    @poller = open_poller(*@pulls)
  end

  def teardown
    @stop = true
    @poller&.close
    @pairs&.flatten&.each(&:close)
  end

  test "a single thread waits while others use the sockets otherwise" do
    in_thread { poll(@poller) }
    idle = open_socket(:PULL)
    meddler { @pulls.sample.events }
    meddler { @pulls.sample.recv_hwm }
    meddler { @pulls.sample.wait_readable(0.001) }
    meddler { @poller.register(idle).remove(idle) }
    meddler { @poller.modify(@pulls.sample, :readable) }
    feed(messages(3_000))
  end

  # The poller's reads of ZMQ_EVENTS consume edges; blocked receivers must wake nevertheless.
  test "blocked receivers beside a poller that only looks" do
    in_thread { quietly { look(@poller) } }
    @pulls.each { |pull| in_thread { quietly { took(pull.recv) until @stop } } }
    feed(messages(3_000))
  end

  test "threads and fibers on one poller, some of them killed and timed out" do
    threads = Array.new(4) { polling_thread }
    in_fibers(4) { poll(@poller) }
    in_thread do
      random = Random.new(SEED)
      until @stop
        Thread.pass
        index = random.rand(threads.size)
        threads[index].kill.join
        threads[index] = polling_thread(random.rand(2).zero? ? random.rand(0.003) : nil)
      end
    end
    feed(messages(3_000))
  end

  # All fibers have one scheduler. When a fiber is stopped, the others must still get the event.
  test "fibers alone, stopped at any time" do
    not_on :ffi, "a wait there holds its thread"
    in_thread do
      Async do |task|
        tasks = Array.new(4) { task.async { poll(@poller) } }
        random = Random.new(SEED)
        until @stop
          sleep(0.001)
          index = random.rand(tasks.size)
          tasks[index].stop
          tasks[index] = task.async { poll(@poller) }
        end
        tasks.each(&:stop)
      end
    end
    feed(messages(2_000))
  end

  private

  def feed(count)
    random = Random.new(SEED)
    count.times do |number|
      @pairs[random.rand(SOCKETS)].last.send(number.to_s)
      assert_equal number.to_s, @taken.pop
    end
  end

  # Waits in the poller again and again, and receives nothing: other threads receive the messages.
  def look(poller)
    until @stop
      poller.wait { |event| event.object.events }
      Thread.pass
    end
  end

  def poll(poller, timeout = nil)
    quietly do
      until @stop
        poller.wait(timeout).each { |event| took(event.object.recv_nonblock(exception: false)) }
      end
    end
  end

  # MASK defers a kill until the thread has put the received message into @taken.
  def polling_thread(timeout = nil)
    in_thread { Thread.handle_interrupt(MASK) { poll(@poller, timeout) } }
  end
end
