# frozen_string_literal: true

require_relative "support/edge_case"
require_relative "support/edge_connection"

# Clients that leave at each kind of wait: `ensure` runs each time, and nothing is left.
class EdgeDeparturesTest < EdgeCase
  deadline 1_000

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
    back = back_end("socket = Godwit::ROUTER.new(recv_hwm: 0).bind(ENDPOINT)\n" \
      "puts 'ready'\nloop { socket.recv }")
    constants = {
      "SILENT" => @silent.addr[1], "BACK_END" => back.endpoint,
      "NOWHERE" => "tcp://127.0.0.1:#{Godwit::TestSupport::Ports.free}"
    }.map { |name, value| "#{name} = #{value.inspect}\n" }.join
    @server = edge(constants + APP)
  end

  def teardown
    @silent&.close
    super
  end

  test "1,000 clients leave at each kind of wait" do
    KINDS.each { |path| leave(path, 1_000, at_once: (path == "/request") ? 50 : 250) }
    assert_equal KINDS.to_h { |path| [path, [1_000] * 3] }, counts
    assert_equal 1, @server.accesses.map { |line| line.split.first if !/counts/.match?(line) }
      .compact.uniq.size
    refute_match(/\[error\]/, @server.log)
  end

  private

  def counts = JSON.parse(@server.get("/counts").body)

  def leave(path, count, at_once:)
    began = counts.fetch(path, [0]).first
    (count / at_once.to_f).ceil.times do |round|
      number = [at_once, count - round * at_once].min
      clients = Array.new(number) { @server.begin(path) }
      began += number
      eventually { counts.fetch(path, [0]).first == began }
      clients.each(&:close)
      eventually { counts[path].last == began }
    end
  end
end
