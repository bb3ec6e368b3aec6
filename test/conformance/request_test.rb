# frozen_string_literal: true

# libzmq: test_req_correlate, test_req_relaxed

require_relative "case"

class RequestTest < Conformance::Case
  def server(transport = :tcp) = open_socket(:ROUTER).bind(endpoint_for(transport))

  def client(server, **options) = open_socket(:REQ, **options).connect(server.last_endpoint)

  # Sends the reply to a request, as a REP would.
  def answer(server, request, reply) = server << [*request[0..-2], reply]

  each_transport("a request of frames is retried like a request of Strings") do |transport|
    frame = ->(bytes) { Godwit::Frame.new(bytes) }
    {"hello" => frame.call("hello"), %w[a b] => [frame.call("a"), "b"],
     %w[c d] => Godwit::Message.new("c", frame.call("d"))}.each do |bytes, message|
      router = server(transport)
      req = client(router)
      served = in_thread do
        2.times { assert_equal [*bytes], router.recv(timeout: 5).drop(2) }
        # The client may repeat the request before it has the reply.
        router.each { |request| answer(router, request.first(3), "late, but here") }
      end
      assert_equal "late, but here", req.request(message, timeout: 0.2, retries: 20)
      router.close
      assert_same router, served.value
      assert(message.is_a?(Array) ? message.first.gone? : message.gone?)
      assert_raises(Godwit::GoneError) { req.request(message, timeout: 5, retries: 1) }
    end
  end

  each_transport("each retry asks again, then TimeoutError") do |transport|
    router = server(transport)
    req = client(router)
    assert_takes(0.6) do
      assert_named(Godwit::TimeoutError, /Timed out/) do
        req.request("hello?", timeout: 0.2, retries: 2)
      end
    end
    arrived = []
    while (request = router.recv(timeout: 0.2, exception: false))
      arrived << request.last
    end
    # On a busy machine the time-out of a try may come before libzmq has sent the request.
    assert_operator arrived.size, :<=, 3
  end

  each_transport("relaxed and correlated it stays the same socket and drops the late reply " \
    "too") do |transport|
    router = server(transport)
    req = client(router, relaxed: true, correlate: true)
    assert_raises(Godwit::TimeoutError) { req.request("first", timeout: 0.2) }
    first = router.recv(timeout: 5)
    waiting = in_thread { req.request("second", timeout: 5) }
    second = router.recv(timeout: 5)
    answer(router, first, "late")
    answer(router, second, "in time")
    assert_equal "in time", waiting.value
    assert_equal first.first, second.first
  end

  each_transport("a REQ that is bound can ask again after a time-out") do |transport|
    req = open_socket(:REQ).bind(endpoint_for(transport))
    router = open_socket(:ROUTER).connect(req.last_endpoint)
    assert_equal "first", ask_without_reply(req, router, "first").last
    waiting = in_thread { req.request("second", timeout: 5) }
    second = eventually { (message = router.recv(timeout: 5)).last == "second" && message }
    answer(router, second, "reply")
    assert_equal "reply", waiting.value
  end

  test "options, endpoints and routing id outlast a time-out" do
    # With handover the ROUTER accepts the recreated REQ before it notices that the old REQ is gone.
    router, second = Array.new(2) { open_socket(:ROUTER, handover: true).bind(endpoint_for(:tcp)) }
    req =
      open_socket(:REQ, routing_id: "me", send_hwm: 7, linger: 0.5, encoding: "UTF-8").connect(
        router.last_endpoint, second.last_endpoint
      )
    before = req.endpoints
    assert_raises(Godwit::TimeoutError) { req.request("one", timeout: 0.02) }
    assert_equal ["me", 7, 0.5, Encoding::UTF_8, before],
      [req.routing_id, req.send_hwm, req.linger, req.encoding, req.endpoints]
    req.linger = 0.25
    req.disconnect(second.last_endpoint)
    assert_raises(Godwit::TimeoutError) { req.request("two", timeout: 0.02) }
    assert_equal [7, 0.25, [router.last_endpoint]], [req.send_hwm, req.linger, req.endpoints]
    waiting = in_thread { req.request("three", timeout: 5) }
    request = eventually { (message = router.recv(timeout: 5)).last == "three" && message }
    assert_equal "me", request.first
    answer(router, request, "reply")
    assert_equal "reply", waiting.value
  end

  test "request takes recv_timeout where none is given, and nil is for ever" do
    router = server
    req = client(router, recv_timeout: 0.2)
    assert_raises(Godwit::TimeoutError) { req.request("first") }
    waiting = in_thread { req.request("second", timeout: nil) }
    eventually { router.recv(timeout: 5).last == "second" }
    until_waiting(req)
    assert_nil waiting.join(0.03)
    assert_predicate waiting, :alive?
  end

  test "several threads take turns, each gets the reply to its own request" do
    rep, req = connected_pair(:REP, :REQ)
    in_thread { rep.serve { |message| "re: #{message}" } }
    threads =
      Array.new(8) { |t| in_thread { Array.new(20) { |i| req.request("#{t}.#{i}", timeout: 5) } } }
    threads.each_with_index do |thread, t|
      assert_equal Array.new(20) { |i| "re: #{t}.#{i}" }, thread.value
    end
  end

  test "bad arguments are refused before anything is sent" do
    rep, req = connected_pair(:REP, :REQ, transport: :inproc)
    [-1, 1.5, "3", nil].each do |retries|
      assert_raises(ArgumentError, retries.inspect) { req.request("x", retries: retries) }
    end
    assert_mistakes(
      -> { req.request("x", timeout: Float::NAN) } => [Godwit::ArgumentValueError, /seconds/],
      -> { req.request("x", timeout: "1") } => [Godwit::ArgumentTypeError, /seconds/],
      -> { req.request(5, timeout: 1) } => [Godwit::MessageTypeError, /got Integer/],
      -> { req.request([], timeout: 1) } => [Godwit::MessageError, /at least one frame/]
    )
    refute_predicate rep, :readable?
    in_thread { rep.serve(&:itself) }
    assert_equal "x", req.request("x", timeout: 5)
  end

  test "in a trap handler request says that it cannot wait for its turn" do
    not_on :jruby, "its trap handlers run in another thread, which may wait"
    result = assert_child run_child(<<~RUBY)
      require "godwit"
      rep = Godwit::REP.bind("inproc://trap")
      Thread.new { rep.serve(&:upcase) }
      req = Godwit::REQ.connect("inproc://trap")
      seen = nil
      trap("USR1") do
        req.request("x", timeout: 1)
      rescue Godwit::UnsupportedError => error
        seen = error
      end
      Process.kill(:USR1, Process.pid)
      Thread.pass until seen
      puts seen.message, seen.operation, req.request("works on", timeout: 5)
    RUBY
    says = /cannot wait for its turn: start a Thread there\)\nrequest\nWORKS ON\n/
    assert_match says, result.stdout
  end

  # A few descriptors are enough for a wait, but not for a new socket.
  test "with no descriptor left to recreate the socket the time-out is still the error; the next " \
    "request reports the cause, then works" do
    not_on :jruby, "Java itself fails where no descriptor is left"
    result = assert_child run_child(<<~RUBY, deadline: 90)
      require "godwit"
      # Each limit has a process of its own: a process cannot raise its limit again.
      [1, 2, 3, 12].each do |left|
        Process.wait(fork do
          rep = Godwit::ROUTER.bind("tcp://127.0.0.1:*")
          req = Godwit::REQ.connect(rep.last_endpoint)
          req << "first"
          rep.send([*rep.recv(timeout: 5)[0..1], "reply"])
          req.recv(timeout: 5)
          files = take_descriptors(descriptors + 20)
          files.pop(left).each(&:close)
          said = []
          2.times do
            req.request("no answer", timeout: 0.02)
          rescue Godwit::Error => error
            said << error.class
          end
          files.each(&:close)
          Thread.new { loop { rep.send([*(message = rep.recv)[0..-2], message.last.upcase]) } }
          said << req.request("works on", timeout: 5, retries: 1)
          puts said.join(" ")
        end)
      end
    RUBY
    outcomes = result.stdout.lines.map { |line| line.split(" ", 3).map(&:chomp) }
    assert_equal 4, outcomes.size
    outcomes.each { |outcome| assert_equal "WORKS ON", outcome.last }
    assert_includes outcomes.map { |outcome| outcome.first(2) },
      %w[Godwit::TimeoutError Godwit::TooManySocketsError]
    assert_equal %w[Godwit::TimeoutError Godwit::TimeoutError], outcomes.last.first(2)
  end
end
