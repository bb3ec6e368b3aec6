# frozen_string_literal: true

require_relative "support/edge_case"
require_relative "support/edge_connection"

# Waits of fibers: what gives them their values, and what ends them otherwise.
class EdgeWaitsTest < EdgeCase
  # An app whose paths are the names of blocks. `step` runs one, and gives what it gave or raised.
  STEPS = <<~'RUBY'
    STEPS = {}
    LOG = []
    def step(name, &block) = STEPS["/#{name}"] = block

    def described
      yield.inspect
    rescue StandardError => error
      "#{error.class}: #{error.message}"
    end

    def pair
      name = "inproc://pair-#{LOG.object_id}-#{LOG.size}-#{PAIRS.size}"
      PAIRS << [Godwit::PAIR.bind(name), Godwit::PAIR.connect(name)]
      PAIRS.last
    end
    PAIRS = []

    step("hello") { "hello" }
    step("log") { LOG }
    run ->(env) {
      block = STEPS[env["PATH_INFO"]] or next [404, {}, []]
      raised = env["QUERY_STRING"] == "raise"
      [200, {}, [raised ? block.call.inspect : described(&block)]]
    }
  RUBY

  test "join runs lambdas at the same time, and raises the first error after all have ended" do
    server = edge(STEPS + <<~RUBY)
      step("values") do
        left, right = pair
        Edge.join(-> { left.recv }, -> { right.send("sent"); 2 }, -> { sleep 0.001 }, -> { 4 })
      end
      step("nested") do
        left, right = pair
        Edge.join(
          -> { Edge.join(-> { left.recv }, -> { 1 }) }, -> { Edge.join(-> { right << "x"; 2 }) }
        )
      end
      step("none") { Edge.join }
      step("error") do
        left, right = pair
        Edge.join(
          -> { LOG << left.recv; raise ArgumentError, "later" },
          -> { raise TypeError, "first" },
          -> { right << "go on"; LOG << right.recv },
          -> { sleep 0.01; LOG << "last"; left << "end" }
        )
      end
      step("no_lambda") { Edge.join(-> { LOG << "ran" }, 7) }
      step("kept") { Edge::Join::FIBERS.instance_variable_get(:@idle).size }
    RUBY
    assert_equal %(["sent", 2, 0, 4]), server.get("/values").body
    assert_equal %([["sent", 1], [2]]).sub("sent", "x"), server.get("/nested").body
    assert_equal "[]", server.get("/none").body
    assert_equal "TypeError: first", server.get("/error").body
    assert_equal %(["go on", "last", "end"]), server.get("/log").body
    assert_match(/NoMethodError: undefined method 'call'/, server.get("/no_lambda").body)
    20.times { server.get("/values") }
    assert_includes 4..8, server.get("/kept").body.to_i # fibers run other works afterwards
  end

  test "sleep waits on the loop: other requests have their answers" do
    server = edge(STEPS + <<~RUBY)
      step("ever") { LOG << "sleeps"; sleep }
      step("zero") { sleep 0 }
      step("short") { sleep 0.0004 }
      step("long") { start = Time.now.to_f; [sleep(0.6), Time.now.to_f - start >= 0.6] }
      step("negative") { sleep(-1) }
      step("text") { sleep "1" }
    RUBY
    waiting = EdgeConnection.new(server.port).ask("/ever")
    eventually { server.get("/log").body.include?("sleeps") }
    assert_equal %w[0 0], [server.get("/zero").body, server.get("/short").body]
    assert_equal "[1, true]", server.get("/long").body
    assert_match(/ArgumentError: sleep takes seconds/, server.get("/negative").body)
    assert_match(/ArgumentError: sleep takes seconds/, server.get("/text").body)
    waiting.close
  end

  test "sockets of Godwit wait on the loop" do
    server = edge(STEPS + <<~RUBY)
      REP = Godwit::REP.bind("tcp://127.0.0.1:*")
      ROUTER = Godwit::ROUTER.bind("tcp://127.0.0.1:*")
      step("request") do
        Godwit::REQ.connect(REP.last_endpoint) do |req|
          Edge.join(-> { req.request("question") }, -> { REP.send(REP.recv.upcase) }).first
        end
      end
      step("many") do
        left, right = pair
        works = (0...20).map { |i| -> { left.recv } }
        Edge.join(*works, -> { 20.times { |i| right << i.to_s } }).first(20)
      end
      step("late") { pair.first.recv(timeout: 0.01) }
      step("no_peer") { Godwit::PUSH.bind("tcp://127.0.0.1:*").send("x", timeout: 0.01) }
      step("poller") do
        poller = Godwit::Poller.new
        poller.register(pair.first, :readable)
        poller.wait
      end
      # The first reply is late, so the REQ is recreated while another fiber waits for it.
      step("recreate") do
        Godwit::REQ.connect(ROUTER.last_endpoint) do |req|
          both = Edge.join(-> { described { req.request("one", timeout: 0.03) } },
            -> { described { req.recv } })
          both + Edge.join(-> { req.request("two") },
            -> { ROUTER.recv; ROUTER.send([*ROUTER.recv.first(2), "reply"]) }).first(1)
        end
      end
      step("close") do
        left, = pair
        Edge.join(-> { described { left.recv } }, -> { described { left.recv } },
          -> { left.close })
      end
      step("context") do
        context = Godwit::Context.new
        socket = context.socket(:PULL)
        socket.bind("inproc://x")
        Edge.join(-> { described { socket.recv } }, -> { context.close })
      end
      step("watched") { Edge::SocketWatch::OPEN.size }
    RUBY
    assert_equal %("QUESTION"), server.get("/request").body
    assert_equal (0...20).map(&:to_s).sort, JSON.parse(server.get("/many").body).sort
    assert_match(/Godwit::TimeoutError/, server.get("/late").body)
    assert_match(/Godwit::TimeoutError/, server.get("/no_peer").body)
    poller = server.get("/poller").body
    assert_match(/Godwit::UnsupportedError.*Edge\.join.*sleep/, poller)
    recreated = server.get("/recreate").body
    assert_match(/\A\["Godwit::TimeoutError.*", "Godwit::StateError.*", "reply"\]\z/, recreated)
    assert_equal 2, server.get("/close").body.scan("Godwit::ClosedError").size
    assert_match(/Godwit::(ClosedError|ContextTerminatedError)/, server.get("/context").body)
    assert_equal "0", server.get("/watched").body
    refute_match(/\[error\]/, server.log)
  end

  # The reply and the departure come in one turn of the loop: the next wait is cancelled.
  test "a client that leaves while its reply comes cancels the next wait" do
    store = redis
    server = edge(STEPS + <<~RUBY, env: {"REDIS_URL" => store.url})
      REDIS = Edge::Redis.new(timeout: 60)
      %w[sleep redis].each do |name|
        step(name) do
          LOG << "began"
          begin
            REDIS.call("GET", "x")
            LOG << "replied"
            name == "sleep" ? sleep : Edge.join(-> { REDIS.call("GET", "x") }, -> { sleep })
          ensure
            LOG << "ended"
          end
        end
      end
    RUBY
    %w[sleep redis].each_with_index do |name, index|
      store.freeze_process
      client = server.begin("/#{name}")
      eventually { server.get("/log").body.scan("began").size == index + 1 }
      Process.kill(:STOP, server.workers.first)
      store.thaw_process
      assert_equal "PONG", store.call("PING") # Redis has sent its reply
      client.close
      Process.kill(:CONT, server.workers.first)
      eventually { server.get("/log").body.scan("ended").size == index + 1 }
    end
  end

  test "late values reach no other wait" do
    store = redis
    server = edge(STEPS + <<~RUBY, env: {"REDIS_URL" => store.url})
      REDIS = Edge::Redis.new(timeout: 60)
      left, right = pair
      step("cancelled") do
        LOG << "waits"
        REDIS.call("GET", "late")
      rescue Edge::Cancelled
        LOG << "cancelled"
        LOG << left.recv
      end
      step("send") { right << "right"; 1 }
      step("bad") do
        zmq = Edge::ZMQ.new("tcp://127.0.0.1:1", timeout: 0.02)
        errors = [nil, 7, [1], [], :a, ["a", nil]].map { |one| described { zmq.request(one) } }
        [errors, sleep(0.1), described { zmq.request("good") }]
      end
      step("words") do
        errors = [[nil], ["GET", nil], ["GET", []], [], [Object.new]]
          .map { |words| described { REDIS.call(*words) } }
        [errors, sleep(0.01), REDIS.call("ECHO", "x")]
      end
    RUBY
    store.call("SET", "late", "wrong")
    store.freeze_process
    client = server.begin("/cancelled")
    eventually { server.get("/log").body.include?("waits") }
    client.close
    eventually { server.get("/log").body.include?("cancelled") }
    store.thaw_process
    assert_equal %(["waits", "cancelled"]), server.get("/log").body
    server.get("/send")
    eventually { server.get("/log").body == %(["waits", "cancelled", "right"]) }
    bad = server.get("/bad").body
    assert_equal 6, bad.scan(/TypeError: |ArgumentError: |Godwit::Argument\w+Error: /).size, bad
    assert_match(/, 0, "Edge::ConnectionError: no peer/, bad)
    words = server.get("/words").body
    assert_equal 5, words.scan(/TypeError: |ArgumentError: /).size, words
    assert_match(/, 0, "x"\]\z/, words)
  end

  test "a wait in a fiber of the app's own is refused, and does no harm" do
    store = redis
    server = edge(STEPS + <<~RUBY, env: {"REDIS_URL" => store.url})
      REDIS = Edge::Redis.new
      step("fiber") { Fiber.new { described { REDIS.call("PING") } }.resume }
      step("enumerator") { Enumerator.new { |y| y << REDIS.call("PING") }.next }
      step("each") { Enumerator.new { |y| y << REDIS.call("PING") }.to_a }
      step("generator") do
        fiber = Fiber.new { |x| Fiber.yield(x + 1) }
        [fiber.resume(1), sleep(0)]
      end
      step("lost") { Fiber.yield }
      step("ping") { REDIS.call("PING") }
    RUBY
    assert_match(/Edge::WaitError: .*fiber.*Edge\.join/, server.get("/fiber").body)
    assert_match(/Edge::WaitError: .*fiber.*Edge\.join/, server.get("/enumerator").body)
    assert_equal %(["PONG"]), server.get("/each").body
    assert_equal "[2, 0]", server.get("/generator").body
    lost = Array.new(3) { server.begin("/lost") }
    assert_equal %("PONG"), server.get("/ping").body # dead and lost fibers are replaced
    lost.each(&:close)
    assert_equal %("PONG"), server.get("/ping").body
  end

  test "a wait below a C function is an error that names the method, and nothing is sent" do
    store = redis
    server = edge(STEPS + <<~'RUBY', env: {"REDIS_URL" => store.url})
      REDIS = Edge::Redis.new
      ZMQ = Edge::ZMQ.new("tcp://127.0.0.1:1")
      SOCKET, = pair
      WAITS = {
        redis: -> { REDIS.set("sent", 1) }, zmq: -> { ZMQ.request("x") }, sleep: -> { sleep },
        recv: -> { SOCKET.recv }, join: -> { Edge.join(-> { REDIS.set("sent", 1) }) }
      }
      class Text
        def initialize(wait) = @wait = wait
        def to_s = @wait.call.to_s
      end
      WAITS.each do |name, wait|
        step("text_#{name}") { "a #{Text.new(wait)}" }
      end
      step("state") do
        left = [Edge::SocketWatch::OPEN.size, ZMQ.instance_variable_get(:@waiting).size,
          ZMQ.instance_variable_get(:@unsent).size]
        [left, sleep(0.02), REDIS.get("sent")]
      end
    RUBY
    %w[redis zmq sleep recv join].each do |name|
      text = server.get("/text_#{name}").body
      assert_match(/Edge::WaitError: cannot wait in to_s, which a C/, text)
    end
    assert_equal "[[0, 0, 0], 0, nil]", server.get("/state").body
  end
end
