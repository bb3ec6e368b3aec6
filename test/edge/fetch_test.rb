# frozen_string_literal: true

require_relative "support/edge_case"
require_relative "support/upstream"

# Edge.fetch returns answers of the server's other locations.
class EdgeFetchTest < EdgeCase
  deadline 120

  APP = <<~'RUBY'
    def show(path, **options)
      answer = Edge.fetch(path, **options)
      [answer.status, answer.headers, answer.body]
    end

    begin
      Edge.fetch("/text")
    rescue => error
      EARLY = "#{error.class}: #{error.message}"
    end
  RUBY
  INNER = <<~RUBY
    run ->(env) {
      case env["PATH_INFO"]
      when "/itself" then Edge.fetch("/app/itself").then { |one| [one.status, {}, [one.body]] }
      when "/raise" then raise "an error"
      else
        body = env.merge("rack.input" => env["rack.input"].read)
        [202, {"x-two" => ["a", "b"], "content-type" => "x/y"}, [JSON.generate(body)]]
      end
    }
  RUBY
  MIB = 1024 * 1024
  OK = "HTTP/1.1 200 OK\r\n"
  CHUNKED = "Transfer-Encoding: chunked\r\n\r\n"

  def setup
    super
    @upstream = own(Upstream.new { |request| answer(request) })
    start
  end

  test "answers of all kinds of locations" do
    assert_equal [200, {"content-type" => "text/plain", "content-length" => "4"}, "text"],
      ask("show('/text')")
    assert_equal ["internal", "text", "text"],
      ask("%w[/internal /te%78t /errors/].map { |path| show(path).last }")
    assert_equal [200, "a file", true, true], ask(<<~RUBY)
      answer = Edge.fetch("/static/file.txt")
      [answer.status, answer.body, *%w[etag last-modified].map { |name| answer.headers.key?(name) }]
    RUBY
    assert_equal [404, 301, 302, 502, 444, 408, 499, 413], ask(<<~RUBY)
      paths = %w[/static/none /static/dir /moved /down/ /close /slow /left]
      paths.map { |path| show(path).first } + [show("/app/", body: "x" * 2_000_000).first]
    RUBY
    assert_equal "/other", ask("Edge.fetch('/moved').headers['location']")

    %w[/up /plain].each do |location|
      length = {"content-length" => "4", "set-cookie" => ["a=1", "b=2"]}
      assert_equal [200, length, "body"], ask("show('#{location}/length')")
      assert_equal [201, {}, "body"], ask("show('#{location}/chunked')")
      assert_equal [200, {}, "body"], ask("show('#{location}/eof')")
    end
    (coding, size), (none, whole) = ask(<<~RUBY)
      answers = %w[/gzip/ /gunzip/].map { |path| Edge.fetch(path) }
      answers.map { |answer| [answer.headers["content-encoding"], answer.body.bytesize] }
    RUBY
    assert_equal ["gzip", true, nil, 400], [coding, size < 100, none, whole]
    assert_equal [[200, "body"], [200, "text"], [202, '{"RE']], ask(<<~RUBY)
      works = %w[/up/length /text /app/].map { |path| -> { Edge.fetch(path) } }
      Edge.join(*works).map { |answer| [answer.status, answer.body[0, 4]] }
    RUBY
    @upstream.requests.clear
    assert_equal [500_000] * 2, ask("[1, 2].map { Edge.fetch('/cached/size?500000').body.size }")
    assert_equal 1, @upstream.requests.size
    assert_sizes
  end

  test "a location gets what the call says, and nothing of the client's request" do
    client = {"X-Client" => "1", "Range" => "bytes=0-1", "If-None-Match" => "x", "Cookie" => "c=1"}
    own = {"host" => "127.0.0.1:#{@upstream.port}", "connection" => "close"}
    {
      "'/up/echo?a=1&b'" => ["GET /echo?a=1&b HTTP/1.0", own, 0],
      "'/up/a%20b', method: :delete" => ["DELETE /a%20b HTTP/1.0", own, 0],
      "'/up/echo', method: 'POST', body: ''" =>
        ["POST /echo HTTP/1.0", own.merge("content-length" => "0"), 0],
      "'/up/echo', method: 'PUT', body: 'x' * 900_000, headers: {'content-type' => 'a/b'}" =>
        ["PUT /echo HTTP/1.0",
          own.merge("content-length" => "900000", "content-type" => "a/b"), 900_000],
      "'/up/echo', headers: {'X-A' => [1, 'b'], 'Cookie' => %w[a=1 b=2], 'X-Request-Id' => '7'}" =>
        ["GET /echo HTTP/1.0",
          own.merge("x-a" => "1, b", "cookie" => "a=1; b=2", "x-request-id" => "7"), 0]
    }.each { |call, seen| assert_equal seen, JSON.parse(ask("show(#{call}).last", client)), call }
    %w[/up/echo /static/file.txt /text /app/].each do |path|
      status, headers, body = ask("show('#{path}', method: 'HEAD')")
      assert_equal [(path == "/app/") ? 202 : 200, true, ""],
        [status, headers["content-length"].to_i > 0, body], path
    end
    call = "show('/app/x?q=1', method: 'POST', headers: {'a' => 'b'}, body: 'text')"
    status, headers, body = ask(call, client)
    assert_equal [202, ["a", "b"], "x/y"], [status, *headers.values_at("x-two", "content-type")]
    expected = {
      "REQUEST_METHOD" => "POST", "SCRIPT_NAME" => "/app", "PATH_INFO" => "/x",
      "QUERY_STRING" => "q=1", "REQUEST_URI" => "/app/x?q=1", "CONTENT_LENGTH" => "4",
      "HTTP_A" => "b", "HTTP_HOST" => "127.0.0.1:#{@server.port}", "rack.input" => "text",
      "SERVER_NAME" => "127.0.0.1", "HTTP_X_CLIENT" => nil, "HTTP_COOKIE" => nil
    }
    assert_equal expected, expected.keys.to_h { |name| [name, JSON.parse(body)[name]] }
    assert_equal 1, ask(<<~RUBY)
      [env["edge.request_id"], Edge.fetch("/id").body,
        JSON.parse(Edge.fetch("/app/").body)["edge.request_id"]].uniq.size
    RUBY
    assert_errors
  end

  private

  # Errors that Edge.fetch raises, and errors of the fetched apps.
  def assert_errors
    @upstream.requests.clear
    {
      "'text'" => "a path begins with /", "''" => "a path begins with /",
      "'/a b'" => "a path has no spaces", "'/a?b' + 10.chr" => "a path has no spaces",
      "'/../x'" => "a path begins with /", "'/x/%2e%2e'" => "a path begins with /",
      "'/%00'" => "a path begins with /",
      "'/text', method: 'GE T'" => 'the method "GE T" is not one of HTTP',
      "'/text', method: nil" => 'the method "" is not one of HTTP',
      "'/text', headers: {'host' => 'x'}" => "nginx writes the header host itself",
      "'/text', headers: {'Upgrade' => 5}" => "nginx writes the header Upgrade itself",
      "'/text', headers: {'a' => '1', 'A' => '2'}" => "the header A occurs twice",
      "'/text', headers: {'a' => 'x' + 10.chr}" => "a header's value has CR, LF or NUL",
      "'/text', headers: {'a b' => 'x'}" => "a header's name has a character",
      "'/text', headers: {1 => 'x'}" => "a header's name is a String"
    }.each do |call, said|
      assert_operator ask("Edge.fetch(#{call})"), :start_with?, "ArgumentError: #{said}"
    end
    ["nil", "'/text', body: 5", "'/text', headers: []"].each do |call|
      assert_match(/\ATypeError: /, ask("Edge.fetch(#{call})"), call)
    end
    assert_match(/\AEdge::Error: Edge.fetch needs an open request/, ask("EARLY"))
    assert_match(/\AEdge::WaitError: cannot wait in to_s/, ask(<<~'RUBY'))
      "#{Class.new { def to_s = Edge.fetch("/up/length").body }.new}"
    RUBY
    assert_empty @upstream.requests
    assert_equal [500, %({"error":"internal"})], ask("show('/app/raise').values_at(0, 2)")
    assert_equal 500, ask("show('/app/itself').first")
    assert_match(/too many fetches within fetches: a location fetches itself/, @server.log)
  end

  def start
    folder = scratch_dir
    FileUtils.mkdir_p("#{folder}/static/dir")
    {"file.txt" => 6, MIB => MIB, MIB + 1 => MIB + 1}.each { |name, size|
      File.write("#{folder}/static/#{name}", "a file".ljust(size))
    }
    zip = Godwit::TestSupport::Ports.free
    closed = "proxy_pass http://127.0.0.1:#{Godwit::TestSupport::Ports.free}"
    upstream = "proxy_pass http://127.0.0.1:#{@upstream.port}/"
    zipped = "proxy_pass http://127.0.0.1:#{zip}; proxy_set_header Accept-Encoding gzip"
    edge({"/" => APP + EVALUATES, "/app/" => INNER}, conf: <<~OTHER, server: <<~NGINX)
      proxy_cache_path #{folder}/cache keys_zone=cache:64k;
      server {
        listen 127.0.0.1:#{zip};
        gzip on; gzip_min_length 0; gzip_types *; gzip_http_version 1.0;
        location / { return 200 "#{"text" * 100}"; }
      }
    OTHER
      location /text { return 200 text; }
      location /id { return 200 $request_id; }
      location /moved { return 302 /other; }
      location /close { return 444; }
      location /slow { return 408; }
      location /left { return 499; }
      location /internal { internal; return 200 internal; }
      location /static/ { root #{folder}; }
      location /threads/ { alias #{folder}/static/; aio threads; output_buffers 1 4k; }
      location /up/ { #{upstream}; }
      location /plain/ { #{upstream}; proxy_http_version 1.1; proxy_buffering off; }
      location /small/ { #{upstream}; proxy_http_version 1.1; proxy_max_temp_file_size 0; }
      location /more/ { #{upstream}; subrequest_output_buffer_size 2m; }
      location /cached/ { #{upstream}; proxy_cache cache; proxy_cache_valid 1h; }
      location /gzip/ { #{zipped}; }
      location /gunzip/ { #{zipped}; gunzip on; }
      location /down/ { #{closed}; }
      location /errors/ { #{closed}; error_page 502 =200 /text; }
    NGINX
  end

  # An answer of at most 1 MiB arrives whole, and a larger one is refused.
  def assert_sizes
    paths = ["/up/size?", "/plain/size?", "/small/size?", "/up/chunks?", "/plain/chunks?",
      "/small/chunks?", "/static/", "/threads/"]
    paths.each do |path|
      assert_equal MIB, ask("Edge.fetch('#{path}#{MIB}').body.size"), path
      assert_match(/\AEdge::Error: the answer of #{Regexp.escape(path)}\d+ has more than #{MIB} by/,
        ask("Edge.fetch('#{path}#{MIB + 1}')"), path)
    end
    before = @server.rss
    60.times { assert_equal MIB, ask("Edge.fetch('/static/#{MIB}').body.size") }
    assert_operator @server.rss - before, :<, 30 * 1024 unless ENV["GODWIT_EDGE_PRELOAD"]
    assert_equal 2 * MIB, ask("Edge.fetch('/more/size?#{2 * MIB}').body.size")
    %w[/up/cut /up/cut-chunks /plain/cut /plain/cut-chunks].each do |path|
      assert_match(/\AEdge::ConnectionError: the answer of #{path} has ended too early/,
        ask("Edge.fetch('#{path}')"))
    end
    assert_equal "text", ask("Edge.fetch('/text').body")
  end

  def answer(request)
    path, query = request.target
    body = "x" * query.to_i
    case path
    when "/length" then "#{OK}Content-Length: 4\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\nbody"
    when "/chunked"
      "HTTP/1.1 201 Created\r\n#{CHUNKED}3\r\nbod\r\n1\r\ny\r\n0\r\n\r\n"
    when "/eof" then "#{OK}\r\nbody"
    when "/cut" then "#{OK}Content-Length: 9\r\n\r\nbody"
    when "/cut-chunks" then "#{OK}#{CHUNKED}4\r\nbody\r\n"
    when "/size" then "#{OK}Content-Length: #{query}\r\n\r\n#{body}"
    when "/chunks" then "#{OK}#{CHUNKED}#{query.to_i.to_s(16)}\r\n#{body}\r\n0\r\n\r\n"
    else
      echo = JSON.generate([request.line, request.headers, request.body.size])
      "#{OK}Content-Length: #{echo.size}\r\n\r\n#{echo unless request.line.start_with?("HEAD")}"
    end
  end
end
