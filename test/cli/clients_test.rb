# frozen_string_literal: true

require "test_helper"
require "godwit/cli"
require "godwit/logger"
require "support/forked_command"

# `--keys` with certificates, and `--clients DIR`, which names the clients that a server admits.
class CLIClientsTest < Godwit::TestCase
  include Godwit::TestSupport::ForkedCommands

  PATIENCE = 20

  def setup
    super
    skip "this libzmq has no CURVE" unless Godwit.has?(:curve)
    Dir.mkdir(clients)
    @server = Godwit::Cert.new("server")
    @server.save(scratch_dir)
    @anna = Godwit::Cert.new("anna")
    @anna.save_public(clients)
    @anna.save(scratch_dir)
    Godwit::Cert.new("stranger").save(scratch_dir)
  end

  def clients = path("clients")

  def endpoint(name) = "ipc://#{path(name)}"

  # Options of a command that acts as a server.
  def serving = ["--keys", path("server.key_secret"), "--clients", clients]

  def as(name) = ["--keys", path("#{name}.key_secret"), "--server-key", path("server.key")]

  test "an empty value of --keys, --server-key, --clients is a variable that is not set" do
    lines = [%w[log serve --keys], %w[log serve --keys x --clients],
      %w[log tail tcp://x:1 --server-key], %w[perf lat tcp://x:1 --keys],
      %w[sh pull tcp://x:1 --keys]]
    assert_usage_errors(lines.to_h { |words|
      [[*words, ""], "#{words.last} is empty: is the variable that holds it set?"]
    })
  end

  # Connects a client with an unknown key, and waits for the refusal.
  def assert_stranger_refused(type, endpoint)
    socket = open_socket(type, curve: Godwit::Curve.keypair, server_key: @server)
    monitor = own(socket.monitor(:handshake_failed_auth))
    socket.connect(endpoint)
    event = monitor.next_event(timeout: PATIENCE) until event&.name == :handshake_failed_auth
    assert_equal 400, event.value
  end

  test "log tail --bind shows records of the clients in DIR alone" do
    tail = start("log", "tail", endpoint("in"), "--bind", "--count", 1, "--timeout", 60, *serving)
    eventually { File.socket?(path("in")) }
    assert_equal 1,
      run_line("log", "send", endpoint("in"), *as("stranger"), "--timeout", 0.5, "x").first
    by_text = [*as("anna").first(3), @server.public_key]
    assert_equal 0, run_line("log", "send", endpoint("in"), *by_text, "hello").first
    assert_includes assert_child(tail.finish).stdout, "hello"
  end

  test "log serve protects every side, and --durable-in too" do
    File.write(path("server"), @server.keypair.secret_key, perm: 0o600)
    serve = start(
      "log", "serve", "--in", endpoint("in"), "--out", endpoint("out"),
      "--control", endpoint("control"), "--durable-in", endpoint("durable"),
      "--file", path("app.log"), "--keys", path("server"), "--clients", clients
    )
    eventually { %w[in out control durable].all? { |name| File.socket?(path(name)) } }
    known = {curve: @anna, server_key: @server}
    tail = own(Godwit::Logger::Reader.subscribe(endpoint("out"), context: context, **known))
    tail.wait_connected(timeout: PATIENCE)
    log = Godwit::Logger.new(endpoint("durable"), durable: path("journal"), **known)
    log.info("durable")
    assert_equal "durable", tail.recv(timeout: PATIENCE).text
    assert_equal 0, run_line("log", "send", endpoint("in"), *as("anna"), "hello").first
    assert_equal "hello", tail.recv(timeout: PATIENCE).text
    assert_equal 0, run_line("log", "stats", endpoint("control"), *as("anna")).first
    {in: :PUSH, out: :SUB, control: :REQ, durable: :DEALER}.each do |name, type|
      assert_stranger_refused(type, endpoint(name))
    end
    log.close
    assert_equal 0, serve.signal(:TERM).finish.status.exitstatus
    assert_equal 2, File.readlines(path("app.log")).grep(/durable|hello/).size
  end

  test "--clients is for servers with --keys" do
    assert_usage_errors([
      ["log", "serve", "--in", endpoint("in"), "--out", endpoint("out")],
      ["log", "tail", endpoint("in"), "--bind"], ["log", "tail", endpoint("in"), *as("anna")],
      ["log", "stats", endpoint("in")], ["log", "send", endpoint("in"), "text"],
      ["sh", "pull", endpoint("in"), "--bind"], ["sh", "pull", endpoint("in"), *as("anna")]
    ].to_h { |words| [[*words, "--clients", clients], "--clients"] })
    assert_usage_errors(
      ["sh", "push", endpoint("in"), "--clients", clients, "--", "true"] => "--clients",
      ["log", "tail", endpoint("in"), "--bind", "--keys", path("server.key_secret"),
        "--clients", path("none")] => "No such file"
    )
  end

  test "--keys refuses a file that others may read" do
    File.write(path("bare"), @anna.keypair.secret_key)
    names = %w[bare anna.key_secret server.key_secret]
    names.each { |name| File.chmod(0o644, path(name)) }
    bare, anna, server = names.map { |name| path(name) }
    {["--keys", bare, "--server-key", path("server.key")] => bare,
     ["--keys", anna, "--server-key", path("server.key")] => anna,
     ["--server-key", server] => server}.each do |words, file|
      says = /#{words.first}: .*chmod 600 #{Regexp.escape(file)}/
      err = assert_fails(2, says, "log", "send", endpoint("in"), *words, "text")
      refute_includes err, @anna.keypair.secret_key
    end
  end
end
