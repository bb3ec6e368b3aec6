# frozen_string_literal: true

require_relative "../edge/support/edge_case"
require_relative "../edge/support/upstream"
require_relative "page"

# docs/edge.md: its apps give the answers that the page shows after them, and its nginx.conf works.
class EdgePageTest < EdgeCase
  PAGE = Page.new("docs/edge.md")
  ARTICLE, GATEWAY, FETCH, STREAM = PAGE.examples.select { |example| example.needs == "edge" }
  TESTS = PAGE.examples.find { |example| example.source.start_with?("app ") }
  PEER = PAGE.examples.find { |example| example.source.include?("Godwit::REP") }
  PUBLISHER = PAGE.examples.find { |example| example.source.include?("Godwit::PUB") }
  # A command `curl` in a block of the page, and its output.
  COMMAND = /^\$ (curl .+)\n((?:[^$].*\n)*)/
  HOST = "localhost:8080"

  test "the article's file answers as shown" do
    server = edge({"/json_api/" => ARTICLE.source}, env: {"REDIS_URL" => redis.url})
    eventually { server.get("/json_api/").code == "200" }
    assert_answers server, shown(ARTICLE, GATEWAY)
  end

  test "the gateway answers as shown" do
    store = redis
    port = Godwit::TestSupport::Ports.free
    peer = start_child(moved(PEER.source, "5555", port), deadline: 110)
    eventually { listens?(port) || peer.finished? }
    source = moved(moved(GATEWAY.source, "6379", store.port), "5555", port)
    # A busy machine may take longer than the page's time-outs, so the test sets longer ones.
    server = edge(source.gsub(/timeout: 0\.\d/, "timeout: 10"))
    assert_answers server, shown(GATEWAY, FETCH)
    assert_equal "tea", store.call("LRANGE", "orders", "0", "-1")
  ensure
    end_command(peer)
  end

  test "the fetch reaches an upstream, and the access log has the times" do
    upstream = Upstream.new { "HTTP/1.1 200 OK\r\n\r\n3" }
    location, log = PAGE.text.scan(/^```nginx\n(.*?)^```$/m).flatten.drop(1)
    server = edge(FETCH.source, server: moved(location, "3000", upstream.port),
      conf: log.sub("/var/log/nginx", scratch_dir))
    assert_equal %({"stock":3}), server.get("/").body
    request = upstream.requests.pop
    assert_equal ["/tea", "size=1"], request.target
    assert_equal "application/json", request.headers["accept"]
    eventually { File.read("#{scratch_dir}/edge.log").end_with?(" redis=- zmq=-\n") }
  ensure
    upstream&.close
  end

  test "the stream sends events as shown" do
    port = Godwit::TestSupport::Ports.free
    server = edge(moved(STREAM.source, "5556", port))
    publisher = start_child(moved(PUBLISHER.source, "5556", port), deadline: 110)
    command, output = PAGE.text.match(/^\$ (curl -sN .+)\n(.*?)^```$/m).captures
    IO.popen(command.sub(HOST, "127.0.0.1:#{server.port}").shellsplit) do |curl|
      assert_equal output.b, ended(in_thread { curl.read(output.bytesize) })
      Process.kill(:TERM, curl.pid)
    end
  ensure
    end_command(publisher)
  end

  test "godwit-edge test runs the page's tests, which are those of the examples" do
    self.class.built
    assert File.read("examples/edge/json_api_test.rb").end_with?(TESTS.source)
    command, output = PAGE.text.match(/^\$ \$GODWIT\/(\S+ test )\S+\n(.+\n)/).captures
    child = start_command([Godwit::TestSupport::Children::RUBY, command.split,
      "examples/edge/json_api_test.rb"].flatten, env: {"REDIS_URL" => redis.url}, deadline: 110)
    result = child.finish
    assert_equal [0, output, ""], [result.status.exitstatus, result.stdout, result.stderr]
  end

  test "the page's nginx.conf has twelve lines, TLS, HTTP/2 and a limit" do
    conf = PAGE.text[/^```nginx\n(.*?)^```$/m, 1]
    assert_equal 12, conf.lines.size
    nginx, port = start_own(conf)
    url = "https://127.0.0.1:#{port}/json_api/"
    # If Redis is late, the app's file fails, and the worker runs the file again each second.
    eventually do
      got = curl("-k", "--http2", "-w", " %{http_version} %{http_code}", url)
      got == %({"foo":"bar"} 2 200)
    end
    codes = curl("-k", "-Z", "-o", File::NULL, "-w", "%{http_code}\n", "#{url}?[1-60]")
    assert_equal %w[200 503], codes.split.uniq.sort
  ensure
    end_command(nginx)
  end

  private

  # @return [Array<Array(String, String)>] commands and outputs on the page between two examples
  def shown(from, to = nil)
    lines = PAGE.text.lines[from.line...(to ? to.line : -1)].join
    lines.scan(/^```console\n(.*?)^```$/m).join.scan(COMMAND)
      .tap { |commands| refute_empty commands }
  end

  def assert_answers(server, commands)
    commands.each do |command, output|
      words = command.sub(HOST, "127.0.0.1:#{server.port}").shellsplit.drop(1)
      assert_equal output.chomp, curl(*words), command
    end
  end

  def curl(*arguments) = Open3.capture3("curl", "-s", *arguments).first

  def moved(source, port, other)
    assert_includes source, "127.0.0.1:#{port}"
    source.sub("127.0.0.1:#{port}", "127.0.0.1:#{other}")
  end

  # Starts nginx with the page's configuration, but with other paths, and with a limit of one
  # request a second, which even a slow machine exceeds.
  # @return [Array(Child, Integer)] nginx, and its port
  def start_own(conf)
    port = Godwit::TestSupport::Ports.free
    folder = scratch_dir
    File.write("#{folder}/json_api.rb", ARTICLE.source)
    certify("shop")
    own = {
      %r{/usr/lib\S+\.so} => self.class.built, "/srv/" => "#{folder}/",
      %r{/etc/ssl/\w+/} => "#{folder}/", " 8443 " => " 127.0.0.1:#{port} ",
      "rate=100r/s" => "rate=1r/s",
      "http {" => "http { access_log off; #{EdgeServer.temporary(folder)}"
    }.inject(conf) { |text, (from, to)| text.gsub(from) { to } }
    File.write("#{folder}/nginx.conf", own)
    globals = "daemon off; pid #{folder}/nginx.pid; #{"user root;" if Process.uid.zero?}"
    env = EdgePrograms.env(EdgePrograms.nginx).merge("REDIS_URL" => redis.url)
    nginx = start_command([EdgePrograms.nginx, "-p", folder, "-c", "#{folder}/nginx.conf",
      "-e", "#{folder}/error.log", "-g", globals], env: env, deadline: 110)
    eventually { listens?(port) || nginx.finished? }
    [nginx, port]
  end

  def end_command(child)
    child&.signal(:TERM)
    child&.finish
  end
end
