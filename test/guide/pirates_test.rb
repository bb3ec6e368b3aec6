# frozen_string_literal: true

require_relative "guide_case"

# examples/guide/*_pirate: servers and workers that are killed, or hang, during a request.
class GuidePiratesTest < GuideCase
  HEARTBEAT = 0.3
  CALM = 2 # seconds between heartbeats in tests whose own sockets send no heartbeats
  FOREVER = 1_000_000
  HANGS = 1000 # seconds that a worker takes for a request: longer than the test, so it never ends

  test "lazy pirate: a server is killed during a request; the next server gets it" do
    endpoint = ipc("server")
    first = example("lazy_pirate/server", endpoint, "A", HANGS)
    client = example("lazy_pirate/client", endpoint, 10, 0.5, 50)
    crash first.wait_for("works on 0")
    second = example("lazy_pirate/server", endpoint, "B", 0)
    assert_equal squares(10, "B"), lines(client)
    interrupt(second)
  end

  test "lazy pirate: a client whose server stays away reports it" do
    result = example("lazy_pirate/client", ipc("nobody"), 1, 0.01, 2).finish
    assert_equal [1, "no reply in 3 times 0.01 s: the server seems to be gone for good\n"],
      [result.status.exitstatus, result.stderr]
  end

  test "simple pirate: a killed worker's request is answered by another" do
    queue, front, back = start("simple_pirate/queue")
    first = example("simple_pirate/worker", back, "A", HANGS)
    client = example("lazy_pirate/client", front, 10, 0.5, 50)
    crash first.wait_for("works on 0")
    second = example("simple_pirate/worker", back, "B", 0)
    assert_equal squares(10, "B"), lines(client)
    crash second # this worker has no request now
    third = example("simple_pirate/worker", back, "C", 0)
    assert_equal squares(5, "C"), lines(example("lazy_pirate/client", front, 5, 0.5, 50))
    [third, queue].each { |child| interrupt(child) }
  end

  test "paranoid pirate: a worker that hangs is dropped, and its request answered by another" do
    queue, front, back = start("paranoid_pirate/queue", HEARTBEAT)
    first = example("paranoid_pirate/worker", back, "A", 0, HEARTBEAT)
    assert_equal squares(3, "A"), lines(example("lazy_pirate/client", front, 3, 5, 10))
    first.signal(:STOP) # this worker has replied, so it is connected
    queue.wait_for("a worker is gone, 0 left")
    client = example("lazy_pirate/client", front, 10, 0.5, 50)
    second = example("paranoid_pirate/worker", back, "B", 0, HEARTBEAT)
    assert_equal squares(10, "B"), lines(client)

    crash second
    first.signal(:CONT) # the queue has dropped this worker, which registers anew
    assert_equal squares(5, "A"), lines(example("lazy_pirate/client", front, 5, 1, 50))
    [first, queue].each { |child| interrupt(child) }
  end

  test "paranoid pirate: the queue and the worker speak RFC 6 on the wire" do
    queue, front, back = start("paranoid_pirate/queue", CALM)
    worker = open_socket(:DEALER).connect(back) << "\x01"
    assert_equal "\x02", worker.recv(timeout: 30)
    client = open_socket(:REQ).connect(front) << "7"
    said = nil
    said = worker.recv(timeout: 30) until said && said != "\x02"
    assert_equal ["", "7"], said.drop(1)
    worker << [*said.first(2), "49"]
    assert_equal "49", client.recv(timeout: 30)

    router = open_socket(:ROUTER).bind("tcp://127.0.0.1:*")
    child = example("paranoid_pirate/worker", router.last_endpoint, "A", 0, CALM)
    address, word = router.recv(timeout: 30)
    assert_equal "\x01", word
    assert_equal [address, "\x02"], router.recv(timeout: 30)
    router << [address, "client", "", "7"]
    said = router.recv(timeout: 30) until said.include?("client")
    assert_equal [address, "client", "", "49, says A"], said
    [child, queue].each { |one| interrupt(one) }
  end

  private

  def start(name, *rest)
    queue = example(name, "tcp://127.0.0.1:*", "tcp://127.0.0.1:*", *rest)
    [queue, *endpoints(queue)]
  end

  def squares(count, name)
    Array.new(count) { |number| "#{number} squared is #{number**2}, says #{name}" }
  end
end
