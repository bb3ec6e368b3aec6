# frozen_string_literal: true

require_relative "support/edge_case"

# The memory of a worker that uses every feature of the edge.
class EdgeMemoryTest < EdgeCase
  deadline 3_000

  WARM = Godwit::TestSupport::Length.of(1_000, long: 5_000)
  COUNT = Godwit::TestSupport::Length.of(2_000, long: 1_000_000)
  # KiB: the allowed size of a worker, and its allowed growth.
  MOST = 15 * 1024
  GROWTH = 512

  APP = <<~RUBY
    require "json"
    REDIS = Edge::Redis.new(timeout: 60)
    PEER = Edge::ZMQ.new(BACK_END, timeout: 60)
    PULL = Godwit::PULL.bind("inproc://pull")
    PUSH = Godwit::PUSH.connect("inproc://pull")
    KINDS = {
      "/hello" => ->(env) { "hello" },
      "/json" => ->(env) { JSON.generate(JSON.parse('{"a": [1, 2.5, "x", null], "b": {}}')) },
      "/redis" => ->(env) { REDIS["key"] = "value"; REDIS["key"] },
      "/zmq" => ->(env) { PEER.request("text") },
      "/join" => ->(env) { Edge.join(-> { REDIS.get("key") }, -> { sleep 0 }).inspect },
      "/socket" => ->(env) { Edge.join(-> { PULL.recv }, -> { PUSH << "x"; "" }).first },
      "/error" => ->(env) { raise "an error" },
      "/body" => ->(env) { Edge.json(env).to_s },
      "/env" => ->(env) { env.inspect }
    }
    run ->(env) {
      path = env["PATH_INFO"]
      next Edge.stream("text/plain") { |out| out << "a"; sleep 0; out << "b" } if path == "/stream"
      [200, {"content-type" => "text/plain"}, [KINDS[path].call(env)]]
    }
  RUBY
  PATHS = [*APP.scan(%r{"(/\w+)" =>}).flatten, "/stream"].freeze
  # "/error" gets half as many requests as other paths, since each error writes a line of the log.
  LOAD = <<~LUA
    local paths = {#{[*PATHS, *PATHS - ["/error"]].map(&:inspect).join(", ")}}
    function request()
      return wrk.format("POST", paths[math.random(#paths)], nil, '{"a": [1, 2]}')
    end
  LUA

  def setup
    super
    skip "AddressSanitizer needs memory of its own" if ENV["GODWIT_EDGE_PRELOAD"]
  end

  test "a worker that uses all of it stays small, and does not grow" do
    store = redis
    back = back_end(BackEnd::REP)
    server = edge("BACK_END = #{back.endpoint.inspect}\n#{APP}", env: {"REDIS_URL" => store.url},
      conf: "access_log off;")
    PATHS.each do |path|
      status = (path == "/error") ? "500" : "200"
      assert_equal status, server.post(path, '{"a": [1, 2]}').code, path
    end
    load_with(server, WARM)
    before = server.rss
    load_with(server, COUNT)
    after = server.rss
    assert_operator after, :<=, MOST
    assert_operator after - before, :<=, GROWTH
  end

  private

  def load_with(server, count)
    script = "#{scratch_dir}/load.lua"
    File.write(script, LOAD)
    command = [EdgePrograms.wrk, "--threads", "1", "--connections", "10", "--duration", "1",
      "--script", script, server.url]
    while count > 0
      result = start_command(command, env: EdgePrograms.env(EdgePrograms.wrk)).finish
      assert_child(result)
      refute_match(/Socket errors/, result.stdout)
      count -= Integer(result.stdout[/(\d+) requests in/, 1])
    end
  end
end
