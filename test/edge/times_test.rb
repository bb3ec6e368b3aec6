# frozen_string_literal: true

require_relative "support/edge_case"

# $godwit_redis_time and $godwit_zmq_time in the access log.
class EdgeTimesTest < EdgeCase
  APP = <<~RUBY
    REDIS = Edge::Redis.new(timeout: 10)
    LATE = Edge::Redis.new(timeout: 0.05)
    PEER = Edge::ZMQ.new("%1$s", timeout: 10)
    LOST = Edge::ZMQ.new("%1$s", timeout: 0.1)
  RUBY
  NONE = "-"
  SHORT = 0.0..5.0
  # [path, the app's code, $godwit_redis_time, $godwit_zmq_time]
  WAITS = [
    ["/", "3.times { REDIS.get('x') }", SHORT, NONE], ["/", "PEER.request('text')", NONE, SHORT],
    ["/", "Edge.join(-> { REDIS.get('x') }, -> { PEER.request('text') })", SHORT, SHORT],
    ["/", "sleep(0.01)", NONE, NONE], ["/static", "", NONE, NONE],
    ["/", "2.times { REDIS.call('DEBUG', 'SLEEP', 0.1) }", 0.2..5, NONE],
    ["/", "LATE.call('DEBUG', 'SLEEP', 0.1)", 0.05..5, NONE],
    ["/", "LOST.request('lose')", NONE, 0.1..5],
    ["/timeout", "PEER.request('lose')", NONE, 0.19..5]
  ].freeze

  test "the times of a request's waits for Redis and for ZeroMQ peers" do
    store = redis("--enable-debug-command", "yes")
    times = 'log_format times "$arg_n $godwit_redis_time $godwit_zmq_time";'
    evaluate(format(APP, back_end.endpoint), env: {"REDIS_URL" => store.url}, conf: times,
      server: <<~NGINX)
        access_log #{scratch_dir}/times.log times;
        location /timeout { godwit_timeout 200ms; godwit_app #{scratch_dir}/edge-0/app0.rb; }
        location /static { return 200 text; }
      NGINX
    WAITS.each_with_index do |(path, code, *times), index|
      @server.post("#{path}?n=#{index}", code)
      line = nil
      eventually { line = File.readlines("#{scratch_dir}/times.log").grep(/^#{index} /).first }
      line.split.drop(1).zip(times) do |time, expected|
        assert_match(/\A(-|\d+\.\d{3})\z/, time, code)
        assert_operator expected, :===, (expected == NONE) ? time : Float(time), "#{code}: #{line}"
      end
    end
  end
end
