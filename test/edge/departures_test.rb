# frozen_string_literal: true

require_relative "support/edge_case"

# Clients that depart at each kind of wait: `ensure` runs each time, and nothing remains.
class EdgeDeparturesTest < EdgeCase
  deadline 1_000

  CLIENTS = Godwit::TestSupport::Length.of(100, long: 1_000)
  GROWTH = 64 # KiB

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
    COUNTS = {}
    run ->(env) {
      path = env["PATH_INFO"]
      next [200, {}, [JSON.generate(COUNTS)]] if path == "/counts"
      next [200, {}, [GC.start.to_s]] if path == "/gc"
      counts = (COUNTS[path] ||= [0, 0, 0])
      counts[0] += 1
      begin
        KINDS[path].call
      rescue Exception => error
        counts[1] += 1 if error.is_a?(Edge::Cancelled)
        raise error
      ensure
        counts[2] += 1
      end
    }
  RUBY
  KINDS = APP.scan(%r{"(/\w+)" =>}).flatten

  def setup
    super
    @silent = TCPServer.new("127.0.0.1", 0)
    constants = {
      "SILENT" => @silent.addr[1], "BACK_END" => back_end.endpoint,
      "NOWHERE" => "tcp://127.0.0.1:#{Godwit::TestSupport::Ports.free}"
    }.map { |name, value| "#{name} = #{value.inspect}\n" }.join
    edge(constants + APP, server: "keepalive_requests 100000;")
    @control = connection
    @accepted = Array.new(2) { @silent.accept }
  end

  def teardown
    [@silent, *@accepted].compact.each(&:close)
    super
  end

  test "clients leave at each kind of wait; of 10,000 no memory is left behind" do
    KINDS.each { |path| leave(path, CLIENTS) }
    assert_no_growth if Godwit::TestSupport::Length.long? && !ENV["GODWIT_EDGE_PRELOAD"]
    KINDS.each { |path| leave(path, 200, at_once: 200) }
    counts.each_value { |began, *ended| assert_equal [began] * 2, ended }
    assert_equal [KINDS.size, CLIENTS + 200], [counts.size, counts.values.flatten.min]
    statuses = @server.accesses.grep_v(/counts|gc/).map { |line| line.split.first }
    assert_equal ["499"], statuses.uniq
    refute_match(/\[error\]/, @server.log)
  end

  private

  def counts = JSON.parse(@control.get("/counts").body)

  def assert_no_growth
    growths = []
    growths << growth until growths.size == 3 || growths.last&.<=(GROWTH)
    assert_operator growths.last, :<=, GROWTH
  end

  # How much a worker grows while 10,000 clients leave. A leak grows in each round.
  # Without new sockets: their memory depends on libzmq's threads.
  # @return [Integer] KiB
  def growth
    before = settled_rss
    (KINDS - ["/request"]).each { |path| leave(path, 1_150) }
    settled_rss - before
  end

  # The commands to Redis end first, since nothing answers them, and connections are made again.
  def settled_rss
    @accepted.each(&:close)
    @accepted = Array.new(2) { @silent.accept }
    @control.get("/gc")
    @server.rss
  end

  def leave(path, count, at_once: 50)
    began = counts.fetch(path, [0]).first
    (count / at_once).times do
      clients = Array.new(at_once) { connection(path) }
      began += at_once
      eventually { counts.fetch(path, [0]).first == began }
      clients.each(&:close)
      eventually { counts[path].last == began }
    end
  end
end
