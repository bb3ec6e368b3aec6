# frozen_string_literal: true

require_relative "support/edge_case"

# How the wait of an app's fiber gets its value, and what else can end the wait.
class EdgeWaitsTest < EdgeCase
  PAIR = <<~'RUBY'
    PAIRS = []
    def pair
      name = "inproc://pair-#{PAIRS.size}"
      PAIRS << [Godwit::PAIR.bind(name), Godwit::PAIR.connect(name)]
      PAIRS.last
    end
  RUBY

  test "join runs lambdas at the same time, and raises the first error after all have ended" do
    evaluate(PAIR)
    assert_equal ["sent", 2, 0, 4], ask(values = <<~RUBY)
      left, right = pair
      Edge.join(-> { left.recv }, -> { right.send("sent"); 2 }, -> { sleep 0.001 }, -> { 4 })
    RUBY
    assert_equal [["x", 1], [2]], ask(<<~RUBY)
      left, right = pair
      Edge.join(
        -> { Edge.join(-> { left.recv }, -> { 1 }) }, -> { Edge.join(-> { right << "x"; 2 }) }
      )
    RUBY
    assert_equal [], ask("Edge.join")
    assert_equal "TypeError: first", ask(<<~RUBY)
      left, right = pair
      Edge.join(
        -> { LOG << left.recv; raise ArgumentError, "later" },
        -> { raise TypeError, "first" },
        -> { right << "go on"; LOG << right.recv },
        -> { sleep 0.01; LOG << "last"; left << "end" }
      )
    RUBY
    assert_equal ["go on", "last", "end"], ask("LOG")
    assert_match(/NoMethodError: undefined method 'call'/, ask("Edge.join(-> {}, 7)"))
    20.times { ask(values) }
    idle = ask("Edge::Join::FIBERS.instance_variable_get(:@idle).size")
    assert_includes 4..8, idle # an idle fiber runs a later block, so few fibers exist
  end

  test "sleep waits on the loop: other requests have their answers" do
    evaluate
    connection("/", body: "LOG << 'sleeps'; sleep")
    eventually { ask("LOG") == ["sleeps"] }
    assert_equal [0, 0], ask("[sleep(0), sleep(0.0004)]")
    assert_equal [1, true], ask("start = Time.now.to_f; [sleep(0.6), Time.now.to_f - start >= 0.6]")
    ["sleep(-1)", "sleep '1'"].each do |code|
      assert_match(/ArgumentError: sleep takes seconds/, ask(code))
    end
  end

  test "sockets of Godwit wait on the loop" do
    evaluate(PAIR + <<~RUBY)
      REP = Godwit::REP.bind("tcp://127.0.0.1:*")
      ROUTER = Godwit::ROUTER.bind("tcp://127.0.0.1:*")
    RUBY
    assert_equal "QUESTION", ask(<<~RUBY)
      Godwit::REQ.connect(REP.last_endpoint) do |req|
        Edge.join(-> { req.request("question") }, -> { REP.send(REP.recv.upcase) }).first
      end
    RUBY
    assert_equal (0...20).map(&:to_s), ask(<<~RUBY).sort_by(&:to_i)
      left, right = pair
      works = (0...20).map { |i| -> { left.recv } }
      Edge.join(*works, -> { 20.times { |i| right << i.to_s } }).first(20)
    RUBY
    ["pair.first.recv(timeout: 0.01)",
      "Godwit::PUSH.bind('tcp://127.0.0.1:*').send('x', timeout: 0.01)"].each do |code|
      assert_match(/\AGodwit::TimeoutError/, ask(code))
    end
    assert_match(/\AGodwit::UnsupportedError.*Edge\.join.*sleep/, ask(<<~RUBY))
      poller = Godwit::Poller.new
      poller.register(pair.first, :readable)
      poller.wait
    RUBY
    # The first reply is late. The REQ is recreated while the second fiber waits in recv.
    recreated = ask(<<~RUBY)
      Godwit::REQ.connect(ROUTER.last_endpoint) do |req|
        both = Edge.join(-> { outcome { req.request("one", timeout: 0.03) } },
          -> { outcome { req.recv } })
        both + Edge.join(-> { req.request("two") },
          -> { ROUTER.recv; ROUTER.send([*ROUTER.recv.first(2), "reply"]) }).first(1)
      end
    RUBY
    assert_equal %w[Godwit::TimeoutError Godwit::StateError reply],
      recreated.map { |one| one[/\A[\w:]*\w/] }
    closed = ask(<<~RUBY)
      left, = pair
      recv = -> { outcome { left.recv } }
      Edge.join(recv, recv, -> { left.close; "" })
    RUBY
    assert_equal 2, closed.grep(/Godwit::ClosedError/).size
    assert_match(/Godwit::(ClosedError|ContextTerminatedError)/, ask(<<~RUBY).first)
      context = Godwit::Context.new
      socket = context.socket(:PULL)
      socket.bind("inproc://x")
      Edge.join(-> { outcome { socket.recv } }, -> { context.close; "" })
    RUBY
    assert_equal 0, ask("Edge::SocketWatch::OPEN.size")
    refute_match(/\[error\]/, @server.log)
  end

  # nginx reads the reply and the disconnect in one turn of its event loop. So the app continues
  # after the reply, and its next wait is cancelled.
  test "a client that leaves while its reply comes cancels the next wait" do
    store = redis
    evaluate("REDIS = Edge::Redis.new(timeout: 60)\n", env: {"REDIS_URL" => store.url})
    ["sleep", "Edge.join(-> { REDIS.call('GET', 'x') }, -> { sleep })"].each do |wait|
      store.freeze_process
      client = connection("/", body: <<~RUBY)
        LOG << "began"
        begin
          REDIS.call("GET", "x")
          #{wait}
        ensure
          LOG.clear
        end
      RUBY
      eventually { ask("LOG") == ["began"] }
      Process.kill(:STOP, @server.workers.first)
      store.thaw_process
      assert_equal "PONG", store.call("PING") # so Redis has sent its reply to GET, too
      client.close
      Process.kill(:CONT, @server.workers.first)
      eventually { ask("LOG") == [] }
    end
  end

  test "late values reach no other wait" do
    store = redis
    evaluate(<<~RUBY, env: {"REDIS_URL" => store.url})
      #{PAIR}
      REDIS = Edge::Redis.new(timeout: 60)
      LEFT, RIGHT = pair
    RUBY
    store.call("SET", "late", "wrong")
    store.freeze_process
    client = connection("/", body: <<~RUBY)
      begin
        LOG << "waits"
        REDIS.call("GET", "late")
      rescue Edge::Cancelled
        LOG << "cancelled"
        LOG << LEFT.recv
      end
    RUBY
    eventually { ask("LOG") == ["waits"] }
    client.close
    eventually { ask("LOG") == %w[waits cancelled] }
    store.thaw_process
    assert_equal %w[waits cancelled], ask("LOG")
    ask("RIGHT << 'right'; 1")
    eventually { ask("LOG") == %w[waits cancelled right] }
    {
      "[nil, 7, [1], [], :a, ['a', nil]].map { |one| outcome { zmq.request(one) } }" =>
        [6, "Edge::ConnectionError: no peer", "outcome { zmq.request('good') }"],
      "[[nil], ['GET', nil], ['GET', []], [], [Object.new]].map { |words| " \
        "outcome { REDIS.call(*words) } }" => [5, "x", "REDIS.call('ECHO', 'x')"]
    }.each do |bad, (size, expected, good)|
      errors, slept, value = ask(<<~RUBY)
        zmq = Edge::ZMQ.new("tcp://127.0.0.1:1", timeout: 0.02)
        [#{bad}, sleep(0.1), #{good}]
      RUBY
      assert_equal [size, 0], [errors.grep(/TypeError: |Argument(Type)?Error: /).size, slept], bad
      assert_operator value, :start_with?, expected
    end
  end

  test "a wait in a fiber of the app's own is refused, and does no harm" do
    store = redis
    evaluate("REDIS = Edge::Redis.new\n", env: {"REDIS_URL" => store.url})
    ["Fiber.new { outcome { REDIS.call('PING') } }.resume",
      "Enumerator.new { |y| y << REDIS.call('PING') }.next"].each do |code|
      assert_match(/Edge::WaitError: .*fiber.*Edge\.join/, ask(code), code)
    end
    {
      "Enumerator.new { |y| y << REDIS.call('PING') }.to_a" => ["PONG"],
      "[Fiber.new { |x| Fiber.yield(x + 1) }.resume(1), sleep(0)]" => [2, 0]
    }.each { |code, value| assert_equal value, ask(code), code }
    lost = Array.new(3) { connection("/", body: "Fiber.yield") }
    assert_equal "PONG", ask("REDIS.call('PING')") # runs in a fiber that is not suspended
    lost.each(&:close)
    assert_equal "PONG", ask("REDIS.call('PING')")
  end

  test "a wait below a C function is an error that names the method, and nothing is sent" do
    store = redis
    evaluate(PAIR + <<~RUBY, env: {"REDIS_URL" => store.url})
      REDIS = Edge::Redis.new
      ZMQ = Edge::ZMQ.new("tcp://127.0.0.1:1", timeout: 0.02, queue: 1)
      SOCKET, = pair
      class Text
        def initialize(&wait) = @wait = wait
        def to_s = @wait.call.to_s
      end
    RUBY
    ["REDIS.set('sent', 1)", "ZMQ.request('x')", "sleep", "SOCKET.recv",
      "Edge.join(-> { REDIS.set('sent', 1) })"].each do |wait|
      assert_match(/Edge::WaitError: cannot wait in to_s, which a C/,
        ask(%("\#{Text.new { #{wait} }}")), wait)
    end
    assert_equal [0, 0, nil, "Edge::ConnectionError"],
      ask("[Edge::SocketWatch::OPEN.size, sleep(0.02), REDIS.get('sent'), " \
        "outcome { ZMQ.request('x') }.split(': ').first]")
  end
end
