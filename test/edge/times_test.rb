# frozen_string_literal: true

require_relative "support/edge_case"

# $godwit_redis_time and $godwit_zmq_time in the access log.
class EdgeTimesTest < EdgeCase
  APP = <<~RUBY
    redis = Edge::Redis.new(timeout: 10)
    late = Edge::Redis.new(timeout: 0.05)
    peer = Edge::ZMQ.new(BACK_END, timeout: 10)
    lost = Edge::ZMQ.new(BACK_END, timeout: 0.1)
    run ->(env) {
      work = env["PATH_INFO"]
      case work
      when "/redis" then 3.times { redis.get("x") }
      when "/zmq" then peer.request("text")
      when "/both" then Edge.join(-> { redis.get("x") }, -> { peer.request("text") })
      when "/sleep" then sleep(0.01)
      when "/slow" then 2.times { redis.call("DEBUG", "SLEEP", 0.1) }
      when "/late" then late.call("DEBUG", "SLEEP", 0.1)
      when "/lost" then lost.request("lose")
      when "/timeout" then peer.request("lose")
      end
      [200, {}, []]
    }
  RUBY
  NONE = "-"
  SHORT = 0.0..5.0

  test "the times of a request's waits for Redis and for ZeroMQ peers" do
    source = "BACK_END = #{back_end.endpoint.inspect}\n#{APP}"
    store = redis("--enable-debug-command", "yes")
    format = 'log_format times "$uri $status $godwit_redis_time $godwit_zmq_time";'
    server = edge(source, env: {"REDIS_URL" => store.url}, conf: format, server: <<~NGINX)
      access_log #{scratch_dir}/times.log times;
      location /timeout { godwit_timeout 200ms; godwit_app #{scratch_dir}/edge-0/app0.rb; }
      location /static { return 200 text; }
    NGINX
    {
      "/redis" => [200, SHORT, NONE], "/zmq" => [200, NONE, SHORT], "/both" => [200, SHORT, SHORT],
      "/sleep" => [200, NONE, NONE], "/static" => [200, NONE, NONE],
      "/slow" => [200, 0.2..5, NONE], "/late" => [504, 0.05..5, NONE],
      "/lost" => [504, NONE, 0.1..5], "/timeout/timeout" => [504, NONE, 0.19..5]
    }.each do |path, (status, *times)|
      assert_equal status.to_s, server.get(path).code, path
      line = nil
      eventually { line = File.readlines("#{scratch_dir}/times.log").grep(/^#{path} /).first }
      line.split.drop(2).zip(times) do |time, expected|
        assert_match(/\A(-|\d+\.\d{3})\z/, time)
        assert_operator expected, :===, (expected == NONE) ? time : Float(time), line
      end
    end
  end
end
