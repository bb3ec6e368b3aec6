# frozen_string_literal: true

require_relative "support/edge_case"

# How nginx reads a request before an app gets it, and HTTP/2 over TLS.
class EdgeHTTPTest < EdgeCase
  APP = <<~RUBY
    run ->(env) {
      said = %w[SERVER_PROTOCOL rack.url_scheme HTTP_HOST HTTP_COOKIE]
        .map { |name| env[name].inspect }
      body = env["rack.input"].read
      body = Edge.fetch("/fetched", body: "body").body if env["PATH_INFO"] == "/fetch"
      [200, {"x-said" => said.join(" ")}, [body]]
    }
  RUBY

  test "100-continue; 60 bodies of 900 KiB leave no memory behind" do
    server = edge(APP)
    TCPSocket.open("127.0.0.1", server.port) do |socket|
      socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n" \
        "Connection: close\r\n\r\n")
      assert_equal "HTTP/1.1 100 Continue\r\n", ended(in_thread { socket.gets })
      socket.write("abc")
      assert_match(%r{\A\r\nHTTP/1\.1 200 .*\r\n\r\nabc\z}m, ended(in_thread { socket.read }))
    end

    body = "0123456789abcdef" * (900 * 64)
    before = server.rss
    60.times { assert_equal body, server.post("/", body).body }
    most = MRubyBuild.version.start_with?("3.1") ? 30 : 80 # MiB: mruby 3.3 grows by 70
    assert_operator server.rss - before, :<, most * 1024 unless ENV["GODWIT_EDGE_PRELOAD"]
  end

  test "HTTP/2 over TLS" do
    skip "no curl with HTTP/2" unless curl("--version").first.match?(/^Features:.*HTTP2/)
    port = Godwit::TestSupport::Ports.free
    edge(APP, server: <<~NGINX)
      #{tls(port)}
      location /fetched { return 200 "$request_uri $server_protocol $content_length"; }
    NGINX
    url = "https://localhost:#{port}/path"
    options = ["--http2", "--cacert", "#{scratch_dir}/tls.pem",
      "--resolve", "localhost:#{port}:127.0.0.1"]
    head, status = curl(*options, "--include", "-b", "a=1; b=2", "--data-binary", "body", url)
    assert_predicate status, :success?, head
    assert_match(%r{\AHTTP/2 200}, head)
    said = %(x-said: "HTTP/2.0" "https" "localhost:#{port}" "a=1; b=2")
    assert_includes head, said
    assert head.end_with?("\r\n\r\nbody"), head

    File.binwrite("#{scratch_dir}/large", "0123456789abcdef" * (900 * 64))
    urls = (1..5).flat_map { |number| ["#{url}/#{number}", "-o", "#{scratch_dir}/out-#{number}"] }
    _, status = curl(*options, "--parallel", "--data-binary", "@#{scratch_dir}/large", *urls)
    assert_predicate status, :success?
    (1..5).each do |number|
      assert FileUtils.identical?("#{scratch_dir}/large", "#{scratch_dir}/out-#{number}")
    end
    head, = curl(*options, "--data-binary", "@#{scratch_dir}/large",
      *Array.new(5) { "https://localhost:#{port}/fetch" })
    assert_equal "/fetched HTTP/2.0 4" * 5, head
    head, = curl(*options, "--head", url)
    assert_match(%r{\AHTTP/2 200}, head)
  end

  private

  def curl(*arguments) = Open3.capture2e("curl", "--silent", "--show-error", *arguments)
end
