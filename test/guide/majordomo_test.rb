# frozen_string_literal: true

require_relative "guide_case"

# examples/guide/majordomo: services by name; workers and brokers that are killed.
class GuideMajordomoTest < GuideCase
  HEARTBEAT = 0.3
  HANGS = 1000 # seconds that a worker takes for a request: longer than the test, so it never ends
  FOREVER = 1_000_000

  test "each service answers its own requests" do
    broker, endpoint = start_broker(heartbeat: 2) # seconds; long enough that no worker is dropped
    workers = {"square" => %w[A B], "reverse" => %w[C]}.flat_map do |service, names|
      names.map { |name| worker(endpoint, service, name, heartbeat: 2) }
    end
    broker.wait_for(/(here.*){3}/m)
    squares, reverses = %w[square reverse].map { |service| client(endpoint, service, 30) }
      .map { |child| lines(child) }
    assert_equal ["is there a worker for square? 200", "is there a worker for reverse? 200"],
      [squares.shift, reverses.shift]
    assert_squares(squares, "square of %d is %d")
    assert_equal [30, %w[A B]], [squares.size, squares.map { |line| line[/\w\z/] }.uniq.sort]
    assert_equal Array.new(30) { |n| "reverse of #{n} is #{n.to_s.reverse}, says C" }, reverses

    interrupt(workers.first)
    broker.wait_for("a worker for square is gone")
    (workers.drop(1) << broker).each { |child| interrupt(child) }
  end

  test "a killed worker's request is answered by another, and the client need not ask again" do
    broker, endpoint = start_broker
    first = worker(endpoint, "square", "A", HANGS)
    client = client(endpoint, "square", 5, timeout: 40, retries: 0)
    crash first.wait_for("works on 0")
    second = worker(endpoint, "square", "B")
    said = lines(client).drop(1)
    assert_squares(said, "square of %d is %d")
    assert_equal [5, ["says B"]], [said.size, said.map { |line| line[/says.*/] }.uniq]
    [second, broker].each { |child| interrupt(child) }
  end

  test "a broker that is killed and started again: the workers come back, and so do the clients" do
    endpoint = ipc("broker")
    broker, = start_broker(endpoint)
    first = worker(endpoint, "square", "A")
    client = client(endpoint, "square", FOREVER).wait_for("says A")
    crash broker
    broker, = start_broker(endpoint)
    broker.wait_for("a worker for square is here")
    second = worker(endpoint, "square", "B")
    client.wait_for("says B")
    assert_squares(interrupt(client).drop(1), "square of %d is %d")
    assert_includes first.stdout + interrupt(first).join("\n"), "reconnecting"
    [second, broker].each { |child| interrupt(child) }
  end

  test "the broker speaks RFC 7 on the wire, and survives malformed messages" do
    broker, endpoint = start_broker(heartbeat: 5)
    client, worker = Array.new(2) { open_socket(:DEALER).connect(endpoint) }
    client << "hello" << ["", "MDPC01"] << ["", "MDPC01", "mmi.service"] <<
      ["", "MDPC02", "echo", "x"]
    assert_equal ["", "MDPC01", "mmi.service", "404"], client.recv(timeout: 30)
    worker << ["", "MDPW01"] << ["", "MDPW01", "?"]
    assert_equal ["", "MDPW01", "\x05"], worker.recv(timeout: 30)

    worker << ["", "MDPW01", "\x01", "echo"]
    client << ["", "MDPC01", "echo", "one", "two"]
    said = nil
    said = worker.recv(timeout: 30) until said && said[2] != "\x04"
    assert_equal ["", "MDPW01", "\x02"], said.first(3)
    assert_equal ["", "one", "two"], said.drop(4)
    worker << ["", "MDPW01", "\x03", said[3], "", "two", "one"]
    assert_equal ["", "MDPC01", "echo", "two", "one"], client.recv(timeout: 30)

    # A reply to no pending request: the broker sends DISCONNECT ("\x05") to the worker.
    worker << ["", "MDPW01", "\x03", said[3], "", "once more"]
    said = worker.recv(timeout: 30) until said.last == "\x05"
    assert_equal ["", "MDPW01", "\x05"], said
    interrupt(broker)
  end

  test "a worker heeds the broker while it works, and registers anew with a silent one" do
    broker = open_socket(:ROUTER).bind("tcp://127.0.0.1:*")
    worker = worker(broker.last_endpoint, "square", "A", HANGS)
    address, *said = broker.recv(timeout: 30)
    assert_equal ["", "MDPW01", "\x01", "square"], said
    broker << [address, "", "MDPW01", "\x02", "client", "", "7"]
    worker.wait_for("works on 7")
    again, *said = broker.recv(timeout: 30) until again && again != address
    assert_equal ["", "MDPW01", "\x01", "square"], said
    interrupt(worker)
  end

  test "a client without a broker reports it" do
    result = client(ipc("nobody"), "reverse", 1, timeout: 0.01, retries: 2).finish
    assert_equal 1, result.status.exitstatus
    assert_match(/\Ano reply in 3 times 0.01 s/, result.stderr)
  end

  private

  def start_broker(endpoint = "tcp://127.0.0.1:*", heartbeat: HEARTBEAT)
    broker = example("majordomo/broker", endpoint, heartbeat)
    [broker, *endpoints(broker)]
  end

  def worker(endpoint, service, name, work = 0, heartbeat: HEARTBEAT)
    example("majordomo/worker", endpoint, service, name, work, heartbeat)
  end

  def client(endpoint, service, count, timeout: 1, retries: 40)
    example("majordomo/client", endpoint, service, count, timeout, retries)
  end
end
