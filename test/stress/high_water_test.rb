# frozen_string_literal: true

# libzmq: test_router_mandatory_hwm

require_relative "stress_case"

# Senders wait at the high-water mark, and receivers are slow. Each message that leaves a queue must
# wake a waiting sender.
class HighWaterTest < Godwit::StressCase
  THREADS = 6
  FIBERS = 4
  # With larger kernel buffers thousands of messages would pass before a sender waits. With smaller
  # ones TCP itself pauses for seconds (its persist timer).
  LOW = {send_hwm: 1, recv_hwm: 1, send_buffer_size: 32_768, recv_buffer_size: 32_768}.freeze

  {PUSH: :PULL, DEALER: :DEALER, PAIR: :PAIR}.each do |sender, receiver|
    each_transport "senders of a full #{sender} all get through" do |transport|
      socket, peer = connected_pair(sender, receiver, transport: transport, **LOW)
      run_senders(socket, messages(2_000)) { |number, random| socket.send(compose(number, random)) }
      assert_trickle(messages(2_000)) { peer.recv(timeout: PATIENCE) }
    end
  end

  test "senders of a full DEALER that also receives all get through" do
    dealer, peer = connected_pair(:DEALER, :DEALER, **LOW)
    answers = Thread::Queue.new
    in_thread { dealer.each { |message| answers << message } }
    total = messages(2_000)
    run_senders(dealer, total) { |number, random| dealer.send(compose(number, random)) }
    assert_trickle(total) do
      peer.recv(timeout: PATIENCE).tap do
        peer.send("seen", timeout: PATIENCE)
        answers.pop
      end
    end
  end

  # A ROUTER reports "writable" if any of its peers is: only a send shows which peer has space.
  test "senders of a ROUTER to several full peers all get through" do
    router = open_socket(:ROUTER, mandatory: true, **LOW).bind(endpoint_for(:tcp))
    peers =
      Array.new(4) do |n|
        open_socket(:DEALER, routing_id: "peer#{n}", **LOW).connect(router.last_endpoint)
      end
    peers.each { |peer| peer.send("here") }
    peers.each { router.recv(timeout: PATIENCE) }
    total = messages(2_000)
    run_senders(router, total, groups: peers.size) do |number, random|
      router.send(["peer#{number % peers.size}", *compose(number, random)])
    end
    # Receives from one peer at a time, while the senders to the other peers wait.
    expected = Array.new(peers.size) { |n| (total - n + peers.size - 1) / peers.size }
    assert_trickle(total) do
      now = @random.rand(peers.size)
      now = (now + 1) % peers.size while expected[now].zero?
      expected[now] -= 1
      peers[now].recv(timeout: PATIENCE)
    end
  end

  private

  # Runs threads and fibers that send the numbers below `total`, each number once.
  # @param groups [Integer] number of groups of numbers; a worker sends the numbers of one group
  def run_senders(socket, total, groups: 1)
    numbers =
      Array.new(groups) { |group| Thread::Queue.new((group...total).step(groups).to_a).close }
    work = lambda do |worker|
      random = Random.new(SEED + worker)
      while (number = numbers[worker % groups].pop)
        yield number, random
      end
    end
    threads = Array.new(THREADS) { |n| in_thread { work.call(n) } }
    in_fibers(FIBERS) { |n| work.call(THREADS + n) }
    eventually { waiters(socket).positive? || threads.none?(&:alive?) }
  end

  def assert_trickle(total)
    log = Array.new(total) do
      message = yield
      Thread.pass
      number_of(message)
    end
    assert_each_once(total, [log])
  rescue Godwit::TimeoutError
    failed("a sender sleeps though the queue has room: #{stuck}")
  end
end
