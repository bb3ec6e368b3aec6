# frozen_string_literal: true

require_relative "support/edge_case"
require_relative "../../edge/command"

# The command godwit-edge. Each test has its own temporary folder.
class EdgeCommandTest < EdgeCase
  COMMAND = [*Godwit::TestSupport::Children::RUBY, "-W", "edge/exe/godwit-edge"].freeze
  HELLO = <<~RUBY
    run ->(env) { [200, {}, [env["SCRIPT_NAME"], env["PATH_INFO"]]] }
  RUBY

  TESTED = <<~'RUBY'
    run ->(env) {
      case env["PATH_INFO"]
      when "/env" then [200, {}, [env.keys.sort.join(" ")]]
      when "/values"
        names = %w[REQUEST_METHOD QUERY_STRING REQUEST_URI HTTP_X_A HTTP_COOKIE CONTENT_LENGTH]
        [200, {"X-A" => ["1", 2], "Content-Type" => "text/plain"},
          [names.map { |name| env[name] }.inspect, env["rack.input"].read]]
      when "/a b/c" then sleep(0.01) && [204, {"X-N" => 1}, ["dropped"]]
      when "/fetch" then [200, {}, [Edge.fetch("/upstream").body]]
      when "/status" then [600, {}, []]
      when "/header" then [200, {"x" => "a\nb"}, []]
      when "/body" then [200, {}, nil]
      when "/json" then [200, {}, [Edge.json(env).inspect]]
      else raise Edge::BusyError, "no luck"
      end
    }
  RUBY
  TESTS = <<~RUBY
    app "./APP"
    def status(path, **rest) = Edge.call("GET", path, **rest).status

    test "an env is as a request's" do
      wanted = %w[
        CONTENT_LENGTH CONTENT_TYPE HTTP_HOST PATH_INFO QUERY_STRING REMOTE_ADDR REQUEST_METHOD
        REQUEST_URI SCRIPT_NAME SERVER_NAME SERVER_PORT SERVER_PROTOCOL SERVER_SOFTWARE
        edge.request_id rack.input rack.url_scheme
      ]
      answer = Edge.call("POST", "/env", body: "", headers: {"content-type" => "text/plain"})
      assert_equal wanted.join(" "), answer.body
      answer = Edge.call(:post, "/values?a=%20", body: "tea",
        headers: {"X-A" => [1, "2"], "Cookie" => %w[a=1 b=2]})
      wanted = ["POST", "a=%20", "/values?a=%20", "1, 2", "a=1; b=2", "3"]
      assert_equal wanted.inspect + "tea", answer.body
      assert_equal({"x-a" => ["1", "2"], "content-type" => "text/plain"}, answer.headers)
      assert_equal "", Edge.call("HEAD", "/values").body
    end

    test "waits, paths as nginx decodes them" do
      none, busy = Edge.join(-> { Edge.call("GET", "//x/../a%20b/./c") }, -> { status("/none") })
      assert_equal [204, "", {"x-n" => "1"}, 503], [none.status, none.body, none.headers, busy]
      def Edge.fetch(path, **options) = Edge::Response.new(200, {}, path)
      assert_equal "/upstream", Edge.call("GET", "/fetch").body
      ["x", "/ x", "/%zz", "/../x"].each do |path|
        error = assert_raises(ArgumentError) { status(path) }
        assert error.message.include?(path), error.message
      end
    end

    test "no answer is 500; the others as in the table of errors" do
      %w[/status /header /body].each { |path| assert_equal 500, status(path) }
      answer = Edge.call("POST", "/json", body: "[1,")
      assert_equal [400, '{"error":"bad_request","offset":3}'], [answer.status, answer.body]
      assert_equal '{"error":"busy"}', Edge.call("GET", "/none").body
    end
  RUBY

  def setup
    super
    self.class.built
    @app = app(HELLO)
    Dir.mkdir(temporary)
  end

  test "an app is served until INT or TERM: status 0, and no folder is left" do
    served = {INT: [], TERM: %w[--mount /api/ --workers 2 --timeout 0.5]}.map do |signal, options|
      port = Godwit::TestSupport::Ports.free
      [signal, port, command(@app, "-p", port, *options)]
    end
    served.each { |_, port, child| child.wait_for("#{@app} at http://127.0.0.1:#{port}/") }
    (_, first, _), (_, second, _) = served
    assert_equal ["200 /x", "200 /api/x", "404"],
      [answer(first, "/x"), answer(second, "/api/x"), answer(second, "/x")[0, 3]]
    assert_equal 2, Dir.children(temporary).size
    served.each { |signal, _, child| child.signal(signal) }
    served.each { |signal, _, child| assert_ended 0, child, signal: signal }
    assert_empty Dir.children(temporary)
  end

  test "--check runs the file: status 0, or 1 with file:line" do
    raising = app("def fail_here = raise(\"no luck\")\n\nfail_here\n")
    wrong = app("run ->(env) {\n  [200, {}, [}\n")
    waiting = app("sleep(0.01)\nEdge.join(-> { sleep(0.01) })\n#{HELLO}")
    bytes = app('raise "no text: \xFF"')
    assert_commands({
      waiting => [0, "", "godwit-edge: #{waiting} has run without an error\n"],
      raising => [1, /\Agodwit-edge: RuntimeError: no luck \(#{raising}:1[:)].*\n\z/, ""],
      wrong => [1, /\Agodwit-edge: .*#{wrong}:2\b.*syntax error.*\n\z/, ""],
      app("1") => [1, /\Agodwit-edge: .*ends with 1, which has no method call.*\n\z/, ""],
      bytes => [1, ->(text) { text.b.include?("-edge: RuntimeError: no text: \xFF (#{bytes}:1".b) },
        ""]
    }.transform_keys { |file| [file, "--check"] })
  end

  test "test runs a file of tests: status 0, or 1 with the file:line of what failed" do
    tests = app(TESTS.sub("APP", File.basename(app(TESTED))))
    failing = app(<<~RUBY)
      app "./#{File.basename(@app, ".rb")}"
      test("one") { assert_equal "/", Edge.call("GET", "/x").body }
      test "two" do
        [1].each { assert_raises(TypeError) { sleep(0.01) } }
      end
      test("three") { assert Edge.call("GET", "/") }
      test("four") { nil.none }
    RUBY
    raising = app("test('x') {}\n\nraise 'no luck'\n")
    wrong = app("test {\n  [}\n")
    without = app("test('x') { Edge.call('GET', '/') }\n")
    errors = [
      "Edge::BusyError: no luck", "Edge::ResponseError: a status is",
      "Edge::ResponseError: a header's value has CR", "Edge::ResponseError: a body is",
      "Edge::BadRequest: ", "Edge::BusyError: no luck"
    ]
    assert_commands({
      tests => [0, ->(text) { text.lines.zip(errors).all? { |line, one| line.include?(one) } },
        "3 tests, 0 failed\n"],
      failing => [1, "", <<~TEXT],
        one: expected "/", got "/x" (#{failing}:2)
        two: expected TypeError, nothing was raised (#{failing}:4)
        four: NoMethodError: undefined method 'none' (#{failing}:7)
        4 tests, 3 failed
      TEXT
      raising => [1, "godwit-edge: RuntimeError: no luck (#{raising}:3)\n", ""],
      wrong => [1, /\Agodwit-edge: SyntaxError: #{wrong}:2: syntax error.*\n\z/, ""],
      without => [1, "", /\Ax: Edge::Error: Edge.call has no app: write app .* \(#{without}:1\)\n/],
      app("1") => [1, /\Agodwit-edge: Edge::Error: .* has no test: write test.*\n\z/, ""]
    }.transform_keys { |file| ["test", file] })
  end

  test "--print-config prints lines that nginx accepts in a configuration of the user's own" do
    file = app(HELLO, %(an "app".rb))
    status, output, errors = here(file, "--mount", "/api/", "--timeout", "2.5", "--print-config")
    assert_equal [0, ""], [status, errors]
    top, location = output.split("# in a server\n")
    assert_includes location, "location /api/ {"
    conf = "#{scratch_dir}/nginx.conf"
    File.write(conf, <<~NGINX)
      #{top}
      pid #{temporary}/nginx.pid;
      events {}
      http {
        access_log off;
        #{EdgeServer.temporary(temporary)}
        server {
          listen unix:#{temporary}/nginx.sock;
          #{location}
        }
      }
    NGINX
    said, status = Open3.capture2e(EdgePrograms.env(EdgePrograms.nginx), EdgePrograms.nginx, "-t",
      "-p", scratch_dir, "-c", conf, "-e", "stderr")
    assert status.success?, said
    assert_includes said, "test is successful"
    refute_match(/\[(?:warn|error|alert|crit|emerg)\]/, said)
  end

  test "a port in use: status 1, a wrong option: status 2, and the message names it" do
    port = own(TCPServer.new("127.0.0.1", 0)).addr[1].to_s
    assert_equal [1, "", "godwit-edge: -p #{port}: the port is in use\n"], here(@app, "-p", port)
    {
      [@app, "-p", "0"] => "-p 0 (from 1 to 65535)", [@app, "-p", "80x"] => "-p 80x",
      [@app, "--workers", "0"] => "--workers 0", [@app, "--workers"] => "--workers",
      [@app, "--timeout", "0"] => "--timeout 0", [@app, "--timeout", "nan"] => "--timeout nan",
      [@app, "--mount", "api"] => "--mount api", [@app, "--mount", "/a b"] => "--mount /a b",
      [@app, "--none"] => "--none", [@app, "more.rb"] => "more.rb",
      ["test", "none.rb"] => "none.rb (there is no such file)", ["test"] => "application's file",
      ["none.rb"] => "none.rb (there is no such file)", [scratch_dir] => scratch_dir,
      [] => "the application's file"
    }.each do |arguments, text|
      status, output, errors = here(*arguments)
      assert_equal [2, ""], [status, output], arguments.inspect
      assert_match(/\Agodwit-edge: .*#{Regexp.escape(text)}.*\n\z/, errors)
    end
  end

  private

  def temporary = "#{scratch_dir}/tmp"

  # @return [String] path of a new file with this source
  def app(source, name = "app#{@apps = (@apps || 0) + 1}.rb")
    "#{scratch_dir}/#{name}".tap { |path| File.write(path, source) }
  end

  # @return [Child] the running command
  def command(*arguments)
    start_command([*COMMAND, *arguments.map(&:to_s)], env: {"TMPDIR" => temporary})
  end

  # Runs the command in this process.
  # @return [Array(Integer, String, String)] status, output, errors
  def here(*arguments)
    status = nil
    output, errors = capture_io { status = GodwitEdge::Command.run(arguments) }
    [status, output, errors]
  end

  # @return [String] the status and the body of the server's answer
  def answer(port, path)
    answer = Net::HTTP.get_response("127.0.0.1", path, port)
    "#{answer.code} #{answer.body}"
  end

  # Runs commands at the same time.
  # @param commands [Hash{Array => Array}] arguments => status, errors and output
  def assert_commands(commands)
    commands.map { |arguments, wanted| [command(*arguments), wanted] }
      .each do |child, (status, errors, output)|
        assert_ended status, child, errors: errors
        assert_operator output, :===, child.stdout
      end
    assert_empty Dir.children(temporary)
  end

  def assert_ended(status, child, errors: "", signal: nil)
    result = child.finish
    refute result.timed_out, "#{signal} #{result}"
    assert_equal status, result.status.exitstatus, "#{signal} #{result}"
    assert_operator errors, :===, result.stderr
  end
end
