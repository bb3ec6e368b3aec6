# frozen_string_literal: true

require_relative "stress_case"

# 8 threads and 8 fibers share a DEALER, another 8 threads and 8 fibers share a ROUTER. At random,
# threads are killed, get an exception or time out, and fibers are stopped; new ones replace them.
# Each message must come back whole, once.
class SharedSocketsTest < Godwit::StressCase
  THREADS = 4 # for each of the four roles; two roles use the DEALER, two the ROUTER
  FIBERS = 4
  HIGH_WATER = 50 # low, so that senders wait too

  # The name of a worker's task, and the method that the worker repeats.
  Role = Struct.new(:name, :step)

  test "a DEALER and a ROUTER shared by threads and fibers that are killed" do
    total = messages(100_000)
    open_both
    @numbers = Thread::Queue.new((0...total).to_a)
    @undelivered = Thread::Queue.new
    @logs = []
    @lock = Mutex.new # guards @logs, for Rubies without a GVL
    @seeds = Thread::Queue.new((1..100_000).map { |n| SEED + n })
    roles = [
      Role.new("send", :send_one), Role.new("receive", :receive_one), Role.new("echo", :echo_one),
      Role.new("echo", :echo_one)
    ]
    reactors = defined?(Async) ? roles.map { |role| start_reactor(role) } : []
    threads =
      roles.flat_map do |role|
        Array.new(defined?(Async) ? THREADS : THREADS + FIBERS) { [role, start_thread(role)] }
      end
    chaos(threads, total)
    finish(threads.map(&:last) + reactors)
    assert_each_once(total, @logs)
  end

  def open_both
    options = {send_hwm: HIGH_WATER, recv_hwm: HIGH_WATER}
    @router =
      open_socket(:ROUTER, mandatory: true, **options).bind(endpoint_for(:tcp), endpoint_for(:ipc))
    @dealer = open_socket(:DEALER, **options).connect(*@router.endpoints)
  end

  # ---- the work of workers ----

  def work(role)
    log = []
    @lock.synchronize { @logs << log }
    random = Random.new(@seeds.pop)
    until @stop
      begin
        __send__(role.step, log, random)
      rescue Godwit::TimeoutError, Retry
        next # another worker sends the message that was not sent
      end
    end
  rescue Godwit::ClosedError
    raise unless @stop
  end

  def send_one(_log, random)
    number = take(@numbers) or return sleep(0.001) # all messages are in transit
    begin
      @dealer.send(compose(number, random), timeout: some_time(random))
      number = nil
    ensure
      put(@numbers, number) if number && !@numbers.closed?
    end
  end

  def receive_one(log, random)
    case random.rand(3)
    when 0
      log.concat(
        @dealer.recv_many(20, timeout: some_time(random)).map { |message| number_of(message) }
      )
    else
      log << number_of(@dealer.recv(timeout: some_time(random)))
    end
  end

  def echo_one(_log, random)
    message = take(@undelivered) || @router.recv(timeout: some_time(random))
    begin
      @router.send(message, timeout: some_time(random))
      message = nil
    ensure
      put(@undelivered, message) if message
    end
  end

  # On JRuby a deferred kill makes `<<` raise ThreadError before the item is in the queue.
  def put(queue, item)
    queue << item
  rescue ThreadError
    retry
  end

  # Does not wait: on JRuby a kill may lose the entry that a waiting pop has just removed.
  def take(queue)
    queue.pop(true) unless queue.empty?
  rescue ThreadError
    nil
  end

  def some_time(random)
    case random.rand(10)
    when 0 then 0
    when 1..4 then random.rand(0.005)
    else 1
    end
  end

  # ---- the threads ----

  def start_thread(role)
    in_thread { Thread.handle_interrupt(MASK) { work(role) } }
  end

  # A thread with an event loop: FIBERS workers, and another fiber that stops and replaces workers.
  def start_reactor(role)
    in_thread do
      Async do |task|
        workers = Array.new(FIBERS) { task.async { work(role) } }
        random = Random.new(@seeds.pop)
        until @stop
          task.sleep(random.rand(0.02))
          index = random.rand(FIBERS)
          workers[index].stop
          workers[index].wait
          workers[index] = task.async { work(role) }
        end
        workers.each(&:wait)
      end
    end
  end

  # Kills threads and replaces them, or raises in them, until all messages have come back.
  def chaos(threads, total)
    until_reached(total) do
      pair = threads[@random.rand(threads.size)]
      if @random.rand(3).zero?
        pair.last.raise(Retry) if pair.last.alive?
      else
        end_thread(pair.last)
        pair[1] = start_thread(pair.first)
      end
      @lock.synchronize { @logs.sum(&:size) }
    end
  end

  def end_thread(thread)
    thread.kill
    failed("a killed thread still runs: #{thread.backtrace}") unless thread.join(PATIENCE)
  rescue Retry
    nil # Retry was raised before the thread had begun
  end

  def teardown
    @stop = true
    @numbers&.close
  end

  def finish(workers)
    teardown
    workers.each do |worker|
      failed("a worker does not end: #{worker.backtrace}") unless worker.join(PATIENCE)
    rescue Retry
      nil
    end
    assert_nil @dealer.recv(timeout: 0, exception: false), "a message too many"
  end
end
