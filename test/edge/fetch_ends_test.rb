# frozen_string_literal: true

require_relative "support/edge_case"
require_relative "support/upstream"

# Requests that end while Edge.fetch waits: the client disconnects, or godwit_timeout is over.
class EdgeFetchEndsTest < EdgeCase
  deadline 120

  APP = <<~RUBY
    def traced
      LOG << "began"
      yield
    rescue Exception => error
      LOG << error.class.name
      raise error
    end
    def app(code) = Edge.fetch("/", method: "POST", body: code)
  RUBY
  STREAM = 'run ->(_) { Edge.stream("text/plain") { |out| out << "text"; sleep } }'

  SILENT = "Edge.fetch('/up/none')"
  AGAIN = "begin; #{SILENT}; ensure; Edge.fetch('/text'); end"
  # Code that waits in the app => how many requests it sends to the upstream server.
  FETCHES = {
    SILENT => 1, "Edge.join(*[-> { #{SILENT} }] * 2)" => 2, "app('sleep')" => 0,
    "app(%(#{SILENT}))" => 1, "Edge.fetch('/stream')" => 0,
    "Edge.join(-> { app(%(#{SILENT})) }, -> { Edge.fetch('/text') })" => 1, AGAIN => 1
  }.freeze

  def setup
    super
    @upstream = own(Upstream.new { |_| nil })
    edge({"/" => APP + EVALUATES, "/stream" => STREAM}, server: <<~NGINX)
      location /text { return 200 text; }
      location /up/ { proxy_pass http://127.0.0.1:#{@upstream.port}/; proxy_read_timeout 1h; }
      location /late { godwit_timeout 100ms; godwit_app #{scratch_dir}/edge-0/app0.rb; }
    NGINX
  end

  test "a client leaves: its fetches end, and their upstreams' connections close" do
    FETCHES.each do |code, count|
      client = connection("/", body: "traced { #{code} }")
      count.times { @upstream.requests.pop }
      eventually { ask("LOG") == ["began"] }
      client.close
      count.times { assert @upstream.departures.pop }
      assert_traced code, "Edge::Cancelled"
    end
  end

  test "godwit_timeout answers 504, and the client's connection goes on" do
    client = connection
    FETCHES.each_key do |code|
      answer = client.get("/late", body: "traced { #{code} }")
      assert_equal [504, %({"error":"timeout"})], answer.to_a, code
      assert_equal [200, "text"], client.get("/text").to_a
      assert_traced code, "Edge::TimeoutError"
    end
    assert_equal 504, client.get("/late", body: <<~RUBY).status
      begin
        #{SILENT}
      rescue Edge::TimeoutError
        sleep 0.01 until $gate
      end
    RUBY
    gate = client.get("/", body: "$gate = Edge.fetch('/text').body")
    assert_equal [200, '"text"'], gate.to_a # the code that got the 504 still waits for $gate
    eventually { @upstream.departures.size == @upstream.requests.size }
  end

  private

  # @param error [String] the error with which the first wait ends
  def assert_traced(code, error)
    error = "Edge::Error" if code == AGAIN
    eventually(code) { ask("LOG") == ["began", error] }
    ask("LOG.clear")
  end
end
