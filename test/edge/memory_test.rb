# frozen_string_literal: true

require_relative "support/edge_case"

# The memory of a worker that uses all that the edge has.
class EdgeMemoryTest < EdgeCase
  deadline 3_000

  COUNT = Godwit::TestSupport::Length.of(200_000, long: 1_000_000)
  # KiB
  MOST = 15 * 1024
  GROWTH = 512

  APP = <<~'RUBY'
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
    run ->(env) { [200, {"content-type" => "text/plain"}, [KINDS[env["PATH_INFO"]].call(env)]] }
  RUBY
  # In turns; each is one request of nginx.
  LOAD = <<~LUA
    local paths = {PATHS}
    local count, most = 0, COUNT
    function request()
      return wrk.format("GET", paths[math.random(#paths)])
    end
    function response()
      count = count + 1
      if count >= most then wrk.thread:stop() end
    end
  LUA
  # Errors write a line of the log each, so fewer of them.
  PATHS = %w[
    /hello /json /redis /zmq /join /socket /body /env /hello?a=1 /hello /hello /error
  ].freeze

  def setup
    super
    skip "AddressSanitizer needs memory of its own" if ENV["GODWIT_EDGE_PRELOAD"]
  end

  test "a worker that uses all of it stays small, and does not grow" do
    store = redis
    back = back_end(BackEnd::REP)
    server = edge("BACK_END = #{back.endpoint.inspect}\n#{APP}", env: {"REDIS_URL" => store.url},
      conf: "access_log off;")
    load_with(server, COUNT / 10)
    before = server.rss
    load_with(server, COUNT)
    after = server.rss
    puts "RSS: #{before} KiB, #{after} KiB after #{COUNT} requests" if ENV["GODWIT_TEST_VERBOSE"]
    assert_operator after, :<=, MOST
    assert_operator after - before, :<=, GROWTH
  end

  private

  def load_with(server, count)
    script = "#{scratch_dir}/load.lua"
    File.write(script,
      LOAD.sub("PATHS", PATHS.map(&:inspect).join(", ")).sub("COUNT", count.to_s))
    command = [EdgePrograms.wrk, "--threads", "1", "--connections", "10", "--duration", "600",
      "--script", script, server.url]
    result = start_command(command, env: EdgePrograms.env(EdgePrograms.wrk), deadline: 600).finish
    assert_child(result)
    assert_operator Integer(result.stdout[/(\d+) requests in/, 1]), :>=, count
  end
end
