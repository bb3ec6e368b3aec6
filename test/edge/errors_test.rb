# frozen_string_literal: true

require_relative "support/edge_case"

# An error that an app does not rescue: the answer has one word, and the log one line.
class EdgeErrorsTest < EdgeCase
  # Evaluates the request's body as line 7 of a file secret.rb.
  APP = <<~RUBY
    class Odd < StandardError
      def message = raise("no message")
    end

    class Silent < Exception
      def backtrace = nil
      def message = 42
    end

    REDIS = Edge::Redis.new("redis://127.0.0.1:%s", timeout: 0.05)
    REP = Godwit::REP.bind("tcp://127.0.0.1:*")
    run ->(env) { eval(env["rack.input"].read, nil, "secret.rb", 7) }
  RUBY

  # [status, word] of the answer => {the app's code => text of the line in the log; nil: no line}
  ERRORS = {
    [500, "internal"] => {
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
    },
    [502, "bad_gateway"] => {
      "raise Edge::ConnectionError, 'secret'" => "secret",
      "REDIS.get('secret')" => "Edge::ConnectionError: "
    },
    [503, "busy"] => {"raise Edge::BusyError, 'secret'" => "secret"},
    [504, "timeout"] => {
      "raise Edge::TimeoutError, 'secret'" => "secret",
      "raise Class.new(Edge::TimeoutError), 'secret'" => "secret",
      "REP.recv(timeout: 0.05)" => "Godwit::TimeoutError: "
    },
    [400, "bad_request"] => {
      "Edge.json('rack.input' => Edge::Input.new('[1, secret'))" => "Edge::BadRequest: "
    }
  }.freeze
  # The app's code, which takes longer than godwit_timeout => the line of the log.
  LATE = {
    "sleep(60)" => "Edge::TimeoutError: the request had no answer in time",
    "begin; sleep(60); rescue Edge::TimeoutError; raise ArgumentError, 'after the answer'; end" =>
      "ArgumentError: after the answer"
  }.freeze

  test "each error has its answer, and the log its class, message, file:line and request id" do
    app = format(APP, Godwit::TestSupport::Ports.free)
    edge(app, server: <<~NGINX)
      add_header X-Id $request_id always;
      location /late { godwit_timeout 50ms; godwit_app #{scratch_dir}/edge-0/app0.rb; }
    NGINX
    ERRORS.each do |(status, word), codes|
      codes.each { |code, said| assert_failure(status, word, said, @server.post("/", code)) }
    end
    LATE.each { |code, said| assert_failure(504, "timeout", said, @server.post("/late", code)) }
  end

  private

  def assert_failure(status, word, said, answer)
    assert_equal [status.to_s, "application/json"], [answer.code, answer["content-type"]], said
    offset = ',"offset":10' if status == 400
    assert_equal %({"error":"#{word}"#{offset}}), answer.body, said
    refute_match(/secret/, answer.each_header.to_a.inspect)
    return unless said
    lines = nil
    eventually { (lines = @server.log.lines.grep(/request id #{answer["x-id"]}/)).any? }
    assert_equal 1, lines.size
    assert_match(/\[error\].*godwit: .*#{Regexp.escape(said)}/, lines.first)
  end
end
