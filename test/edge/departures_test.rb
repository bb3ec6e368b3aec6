# frozen_string_literal: true

require_relative "support/edge_case"

# Clients disconnect during each kind of wait: the app's `ensure` runs, and no memory is lost.
class EdgeDeparturesTest < EdgeCase
  deadline 1_000

  CLIENTS = Godwit::TestSupport::Length.of(100, long: 1_000)
  GROWTH = 64 # KiB that a worker may grow while 10,000 clients depart

  APP = <<~'RUBY'
    REDIS = Edge::Redis.new("redis://127.0.0.1:#{SILENT}", timeout: 60)
    CONNECTING = Edge::Redis.new("redis://:x@127.0.0.1:#{SILENT}", timeout: 60)
    LOST = Edge::ZMQ.new(BACK_END, timeout: 60, queue: 10_000)
    UNSENT = Edge::ZMQ.new(NOWHERE, timeout: 60, queue: 10_000)
    PULL = Godwit::PULL.bind("inproc://nothing")
    PUSH = Godwit::PUSH.bind("inproc://nobody")
    KINDS = {
      "/sleep" => -> { sleep },
      "/redis" => -> { REDIS.get("x") },
      "/connecting" => -> { CONNECTING.get("x") },
      "/zmq" => -> { LOST.request("lose") },
      "/unsent" => -> { UNSENT.request("x") },
      "/recv" => -> { PULL.recv },
      "/send" => -> { PUSH.send("x") },
      "/request" => -> { Godwit::REQ.connect(BACK_END) { |req| req.request("lose") } },
      "/join" => -> { Edge.join(-> { sleep }, -> { REDIS.get("x") }, -> { LOST.request("lose") }) },
      "/ensure" => -> { begin; sleep; ensure; sleep 0; end }
    }
    run ->(env) {
      path = env["PATH_INFO"]
      next [200, {}, [JSON.generate(SAID)]] if path == "/said"
      next [200, {}, [GC.start.to_s]] if path == "/gc"
      noted(path) { KINDS[path].call }
    }
  RUBY
  KINDS = APP.scan(%r{"(/\w+)" =>}).flatten

  def setup
    super
    @silent = own(TCPServer.new("127.0.0.1", 0))
    constants = {
      "SILENT" => @silent.addr[1], "BACK_END" => back_end.endpoint,
      "NOWHERE" => "tcp://127.0.0.1:#{Godwit::TestSupport::Ports.free}"
    }.map { |name, value| "#{name} = #{value.inspect}\n" }.join
    edge(NOTED + constants + APP, server: "keepalive_requests 100000;")
    @control = connection
    accept
  end

  test "clients depart at each kind of wait; 10,000 departures leak no memory" do
    KINDS.each { |path| depart(path, CLIENTS) }
    assert_no_growth if Godwit::TestSupport::Length.long? && !ENV["GODWIT_EDGE_PRELOAD"]
    KINDS.each { |path| depart(path, 200, at_once: 200) }
    began, ended = [KINDS, %w[Edge::Cancelled ensure]].map { |names| said.values_at(*names) }
    assert_equal [began.sum] * 2, ended
    assert_equal [KINDS.size + 2, CLIENTS + 200], [said.size, began.min]
    statuses = @server.accesses.grep_v(/said|gc/).map { |line| line.split.first }
    assert_equal ["499"], statuses.uniq
    refute_match(/\[error\]/, @server.log)
  end

  private

  def accept = @accepted = Array.new(2) { own(@silent.accept) }

  def assert_no_growth
    growths = []
    growths << growth until growths.size == 3 || growths.last&.<=(GROWTH)
    assert_operator growths.last, :<=, GROWTH
  end

  # Lets 10,000 clients depart. No client uses the path "/request": the app makes a socket for such
  # a request, and how much memory the sockets need depends on libzmq's threads.
  # @return [Integer] KiB by which the worker has grown; with a leak each call returns too much
  def growth
    before = settled_rss
    (KINDS - ["/request"]).each { |path| depart(path, 1_150) }
    settled_rss - before
  end

  # Ends the worker's connections to the silent Redis, then returns the worker's memory in KiB.
  def settled_rss
    @accepted.each(&:close)
    accept
    @control.get("/gc")
    @server.rss
  end

  def depart(path, count, at_once: 50)
    (count / at_once).times do
      began, ended = said.fetch(path, 0), said.fetch("ensure", 0)
      clients = Array.new(at_once) { connection(path) }
      eventually { said[path] == began + at_once }
      clients.each(&:close)
      eventually { said["ensure"] == ended + at_once }
    end
  end
end
