# frozen_string_literal: true

require_relative "support/edge_case"

# What errors that an app does not rescue become: an answer with one word, and a line of the log.
class EdgeErrorsTest < EdgeCase
  # Runs the code in the body as line 7 of a file secret.rb.
  APP = <<~RUBY
    class Odd < StandardError
      def message = raise("no message")
    end

    class Silent < Exception
      def backtrace = nil
      def message = 42
    end

    redis = Edge::Redis.new("redis://127.0.0.1:%{closed}", timeout: 0.05)
    peer = Edge::ZMQ.new("tcp://127.0.0.1:%{closed}", timeout: 0.05, queue: 2)
    server = Godwit::REP.bind("tcp://127.0.0.1:*")
    run ->(env) {
      code = env["rack.input"].read
      case env["PATH_INFO"]
      when "/redis" then redis.get("secret")
      when "/peer" then peer.request("secret")
      when "/busy" then Edge.join(*Array.new(3) { -> { peer.request("secret") } })
      when "/sleep" then sleep(60)
      when "/after"
        begin
          sleep(60)
        rescue Edge::TimeoutError
          raise ArgumentError, "after the answer"
        end
      when "/recv" then server.recv(timeout: 0.05)
      else eval(code, nil, "secret.rb", 7)
      end
    }
  RUBY

  test "each error has its answer, and the log its class, message, file:line and request id" do
    start
    {
      "raise 'secret'" => "RuntimeError: secret (secret.rb:7",
      "raise Exception, 'secret'" => "Exception: secret (secret.rb:7",
      "nil.secret" => "NoMethodError: undefined method 'secret'",
      "Integer('secret')" => "ArgumentError: ",
      "def deep(n) = deep(n + 1) + 1; deep(0)" => "SystemStackError: ",
      "raise Edge::Cancelled, 'secret'" => nil,
      "raise Odd" => "Odd: ", "raise Silent" => "Silent: 42",
      "raise 'a' + 10.chr + 'secret' + 0.chr + 27.chr" => "RuntimeError: a secret   (secret.rb:7",
      "raise 'x' * 5000" => "RuntimeError: xxxx",
      "raise Edge::CommandError, 'secret'" => "Edge::CommandError: secret",
      "begin; raise 'first'; ensure; raise 'second'; end" => "RuntimeError: second"
    }.each { |code, said| assert_failure(500, "internal", said, post("/", code)) }
    {
      "raise Edge::ConnectionError, 'secret'" => [502, "bad_gateway"],
      "raise Edge::BusyError, 'secret'" => [503, "busy"],
      "raise Edge::TimeoutError, 'secret'" => [504, "timeout"],
      "raise Class.new(Edge::TimeoutError), 'secret'" => [504, "timeout"]
    }.each { |code, (status, word)| assert_failure(status, word, "secret", post("/", code)) }
  end

  test "back ends that do not answer: 502, 503, 504" do
    start
    assert_failure(502, "bad_gateway", "Edge::ConnectionError: ", post("/redis"))
    assert_failure(502, "bad_gateway", "Edge::ConnectionError: no peer at tcp://", post("/peer"))
    assert_failure(503, "busy", "Edge::BusyError: 2 requests wait for tcp://", post("/busy"))
    assert_failure(504, "timeout", "Godwit::TimeoutError: ", post("/recv"))
    said = post("/", "Edge.json('rack.input' => Edge::Input.new('[1, secret'))")
    assert_equal ["400", %({"error":"bad_request","offset":10})], [said.code, said.body]
    assert_failure(400, "bad_request", "Edge::BadRequest: ", said)
  end

  test "after godwit_timeout the log still has the request's id" do
    start("godwit_timeout 50ms;")
    assert_failure(504, "timeout", "Edge::TimeoutError: the request had no answer in time",
      post("/sleep"))
    assert_failure(504, "timeout", "ArgumentError: after the answer", post("/after"))
  end

  private

  def start(lines = "")
    closed = Godwit::TestSupport::Ports.free
    @server = edge(APP.gsub("%{closed}", closed.to_s),
      server: "add_header X-Id $request_id always; #{lines}")
  end

  def post(path, body = "x") = @server.post(path, body)

  # @param said [String, nil] in the log's line; nil: none
  def assert_failure(status, word, said, answer)
    assert_equal [status.to_s, "application/json"], [answer.code, answer["content-type"]], said
    assert_match(/\A\{"error":"#{word}"(,"offset":\d+)?\}\z/, answer.body)
    refute_match(/secret/, answer.each_header.to_a.inspect)
    return unless said
    own = nil
    eventually { own = line(answer["x-id"]) }
    assert_includes own, "[error]"
    assert_includes own, "godwit: "
    assert_includes own, said
  end

  def line(id)
    found = @server.log.lines.grep(/request id #{id}/)
    assert_operator found.size, :<=, 1
    found.first
  end
end
