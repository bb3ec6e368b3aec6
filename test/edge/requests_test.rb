# frozen_string_literal: true

require_relative "support/edge_case"

# What an app receives: env, headers and bodies.
class EdgeRequestsTest < EdgeCase
  # The app answers with its env, or with the value of the code in the header x-code.
  APP = <<~RUBY
    run ->(env) {
      input = env["rack.input"]
      value = if env["HTTP_X_CODE"]
        eval(env["HTTP_X_CODE"])
      else
        env.merge("rack.input" => input.read)
      end
      [200, {"x-size" => input.size}, [JSON.generate(value)]]
    }
  RUBY

  test "env describes the request" do
    server = edge({"/" => APP, "/api/" => APP, "= /exact" => APP, "~ ^/re/x+" => APP},
      server: "add_header X-Id $request_id always; if ($arg_early) { set $early $request_id; }")
    answer = server.get("/api/a%20b//c%2Fd/../%C3%A9?q=%20&r", "X-Some-Header" => "1")
    env = JSON.parse(answer.body)
    assert_match(/\A\h{32}\z/, env["edge.request_id"])
    assert_match(%r{\Anginx/[\d.]+\z}, env.delete("SERVER_SOFTWARE"))
    expected = {
      "REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "/api", "PATH_INFO" => "/a b/c/é",
      "QUERY_STRING" => "q=%20&r", "REQUEST_URI" => "/api/a%20b//c%2Fd/../%C3%A9?q=%20&r",
      "SERVER_NAME" => "127.0.0.1", "SERVER_PORT" => server.port.to_s,
      "SERVER_PROTOCOL" => "HTTP/1.1", "REMOTE_ADDR" => "127.0.0.1", "rack.url_scheme" => "http",
      "rack.input" => "", "edge.request_id" => answer["x-id"],
      "HTTP_HOST" => "127.0.0.1:#{server.port}", "HTTP_X_SOME_HEADER" => "1"
    }
    names = %w[HTTP_ACCEPT HTTP_ACCEPT_ENCODING HTTP_USER_AGENT HTTP_CONNECTION]
    assert_equal expected, env.except(*names)

    early = server.get("/?early=1") # nginx creates the request id before the app runs
    assert_equal early["x-id"], env_of(early)["edge.request_id"]
    ids = Net::HTTP.start("127.0.0.1", server.port) { |http|
      Array.new(600) { http.get("/")["x-id"] }
    }
    assert_equal ids, ids.uniq

    paths = {
      "/" => ["", "/"], "/x/y" => ["", "/x/y"], "/api/" => ["/api", "/"],
      "/api/x" => ["/api", "/x"], "/apix" => ["", "/apix"], "/exact" => ["/exact", "/"],
      "/re/xx/y" => ["", "/re/xx/y"], "/api/%2e%2e/z" => ["", "/z"]
    }
    paths.each do |path, expected|
      assert_equal expected, env_of(server.get(path)).values_at("SCRIPT_NAME", "PATH_INFO"), path
    end
    %w[PUT PATCH DELETE OPTIONS PROPFIND].each do |method|
      env = env_of(server.request(Net::HTTPGenericRequest.new(method, false, true, "/")))
      assert_equal method, env["REQUEST_METHOD"]
    end
    old = JSON.parse(server.raw("GET /old HTTP/1.0\r\n\r\n").split("\r\n\r\n").last)
    assert_equal %w[HTTP/1.0 127.0.0.1], old.values_at("SERVER_PROTOCOL", "SERVER_NAME")
  end

  test "headers have their names in CGI's form, and repeated ones are joined" do
    server = edge(APP)
    long = "x-#{"n" * 60}"
    answer = server.raw(<<~HTTP.gsub("\n", "\r\n"))
      GET / HTTP/1.1
      Host: x
      Connection: close
      X-Twice: a
      x-twice: b
      X-TWICE:
      Cookie: c=1
      cookie: d=2
      Content-Type: text/odd
      #{long}: 1
      #{long}: 2
      x_user: forged
      x-user: true

    HTTP
    env = JSON.parse(answer.split("\r\n\r\n", 2).last)
    expected = {
      "HTTP_X_TWICE" => "a, b, ", "HTTP_COOKIE" => "c=1; d=2", "CONTENT_TYPE" => "text/odd",
      "HTTP_#{long.upcase.tr("-", "_")}" => "1, 2", "HTTP_X_USER" => "true",
      "HTTP_CONTENT_TYPE" => nil, "CONTENT_LENGTH" => nil
    }
    assert_equal expected, expected.to_h { |name, _| [name, env[name]] }
    # These are more header names than a worker caches.
    3.times do
      (0...12).each do |group|
        names = (0...30).map { |number| "x-name-#{group}-#{number}" }
        env = env_of(server.get("/", names.to_h { |name| [name, name] }))
        names.each { |name| assert_equal name, env["HTTP_#{name.upcase.tr("-", "_")}"] }
      end
    end
  end

  test "bodies arrive whole, from memory, from a file, in pieces and in chunks" do
    server = edge(APP, server: "client_body_buffer_size 16k;", conf: "sendfile on;")
    [0, 1, 5_000, 16_384, 100_000, 900 * 1024, 1024 * 1024].each do |size|
      body = Random.new(size).bytes(size).unpack1("H*")[0, size]
      env = env_of(server.post("/", body))
      assert_equal [body, size.to_s], env.values_at("rack.input", "CONTENT_LENGTH"), size
      answer = server.request(chunked(body))
      assert_equal size.to_s, answer["x-size"]
      assert_equal body, env_of(answer)["rack.input"]
    end
    large = "x" * (1024 * 1024 + 1)
    assert_equal %w[413 413],
      [server.post("/", large), server.request(chunked(large))].map { |answer| answer.code }
  end

  test "rack.input has read, gets, each and rewind" do
    server = edge(APP)
    {
      "[input.read, input.read, input.read(1), input.rewind, input.read]" =>
        ["one\ntwo\n\nend", "", nil, 0, "one\ntwo\n\nend"],
      "[input.read(4), input.read(0), input.read(100), input.read(0), input.read(1)]" =>
        ["one\n", "", "two\n\nend", "", nil],
      "buffer = 'x'; [input.read(3, buffer), buffer.dup, input.read(nil, buffer), buffer]" =>
        %W[one one \ntwo\n\nend \ntwo\n\nend],
      "[input.gets, input.gets, input.gets, input.gets, input.gets]" =>
        ["one\n", "two\n", "\n", "end", nil],
      "lines = []; input.each { |line| lines << line }; lines" => ["one\n", "two\n", "\n", "end"],
      "[input.read(2), input.gets, input.rewind, input.gets]" => ["on", "e\n", 0, "one\n"]
    }.each do |code, expected|
      assert_equal expected, env_of(server.post("/", "one\ntwo\n\nend", "X-Code" => code)), code
    end
    code = "lines = 0; bytes = 0; input.each { |line| lines += 1; bytes += line.bytesize }; " \
      "[lines, bytes]"
    {"line of 9\n" * 100_000 => 100_000, "x" * 1_000_000 => 1}.each do |body, lines|
      assert_equal [lines, 1_000_000], env_of(server.post("/", body, "X-Code" => code))
    end
  end

  private

  def env_of(answer) = JSON.parse(answer.body)

  def chunked(body)
    Net::HTTP::Post.new("/", "Transfer-Encoding" => "chunked", "Content-Type" => "text/plain")
      .tap { |request| request.body_stream = StringIO.new(body) }
  end
end
