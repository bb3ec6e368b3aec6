# frozen_string_literal: true

require_relative "support/edge_case"
require_relative "support/upstream"

# Requests that end while Edge.fetch waits: clients leave, or godwit_timeout is over.
class EdgeFetchEndsTest < EdgeCase
  deadline 120

  APP = <<~RUBY
    KINDS = {
      "/one" => -> { Edge.fetch("/up/none") },
      "/two" => -> { Edge.join(*[-> { Edge.fetch("/up/none") }] * 2) },
      "/app" => -> { Edge.fetch("/sleep") },
      "/deep" => -> { Edge.fetch("/one") },
      "/mixed" => -> { Edge.join(-> { Edge.fetch("/one") }, -> { Edge.fetch("/text") }) },
      "/streams" => -> { Edge.stream("text/plain") { |out| out << "text"; sleep } },
      "/streamed" => -> { Edge.fetch("/streams") },
      "/sleep" => -> { sleep },
      "/rescued" => -> {
        begin
          Edge.fetch("/up/none")
        rescue Edge::TimeoutError
          sleep 0.01 until BEGAN["/gate"]
          [200, {}, []]
        end
      },
      "/gate" => -> { Edge.fetch("/text") },
      "/again" => -> { begin; Edge.fetch("/up/none"); ensure; Edge.fetch("/text"); end }
    }
    ENDS = {}
    BEGAN = {}
    run ->(env) {
      path = env["PATH_INFO"]
      next [200, {}, [JSON.generate([BEGAN, ENDS])]] if path == "/ends"
      BEGAN[path] = BEGAN.fetch(path, 0) + 1
      begin
        answer = KINDS.fetch(path).call
        answer.is_a?(Array) ? answer : [answer.status, {}, [answer.body]]
      rescue Exception => error
        (ENDS[path] ||= []) << error.class.name
        raise error
      end
    }
  RUBY
  # What the upstream sees of each kind.
  UPSTREAM = {
    "/one" => 1, "/two" => 2, "/app" => 0, "/deep" => 1, "/mixed" => 1, "/again" => 1,
    "/streamed" => 0
  }.freeze

  def setup
    super
    @upstream = Upstream.new { |_| nil }
    edge(APP, server: <<~NGINX)
      location /text { return 200 text; }
      location /up/ { proxy_pass http://127.0.0.1:#{@upstream.port}/; proxy_read_timeout 1h; }
      location /late/ { godwit_timeout 100ms; godwit_app #{scratch_dir}/edge-0/app0.rb; }
    NGINX
  end

  def teardown
    @upstream&.close
    super
  end

  test "a client leaves: its fetches end, and their upstreams' connections close" do
    UPSTREAM.each do |path, count|
      client = connection(path)
      count.times { @upstream.requests.pop }
      eventually { ends(0)[path] == 1 }
      client.close
      count.times { assert @upstream.departures.pop }
      error = (path == "/again") ? "Edge::Error" : "Edge::Cancelled"
      eventually { ends(1)[path] == [error] }
    end
  end

  test "godwit_timeout answers 504, and the client's connection goes on" do
    client = connection
    UPSTREAM.each_key do |path|
      assert_equal [504, %({"error":"timeout"})], client.get("/late#{path}").to_a, path
      assert_equal [200, "text"], client.get("/text").to_a
      error = (path == "/again") ? "Edge::Error" : "Edge::TimeoutError"
      eventually { ends(1)[path] == [error] }
    end
    assert_equal 504, client.get("/late/rescued").status
    assert_equal [200, "text"], client.get("/gate").to_a # although the app runs on
    eventually { @upstream.departures.size == @upstream.requests.size }
  end

  private

  def ends(index) = JSON.parse(@server.get("/ends").body)[index]
end
