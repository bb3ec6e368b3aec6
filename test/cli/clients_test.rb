# frozen_string_literal: true

require "test_helper"
require "godwit/cli"
require "godwit/logger"
require "support/forked_command"

# `--keys` with certificates, and `--clients DIR`: who may connect to a command that is a server.
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

  def path(name) = File.join(scratch_dir, name.to_s)

  def clients = path("clients")

  def place(name) = "ipc://#{path(name)}"

  def here(*words) = run_line(*words)

  # Options of a server, and of a client.
  def serving = ["--keys", path("server.key_secret"), "--clients", clients]

  def as(name) = ["--keys", path("#{name}.key_secret"), "--server-key", path("server.key")]

  test "an empty value of --keys, --server-key, --clients is a variable that is not set" do
    [%w[log serve --keys], %w[log serve --keys x --clients], %w[log tail tcp://x:1 --server-key],
      %w[perf lat tcp://x:1 --keys], %w[sh pull tcp://x:1 --keys]].each do |words|
      status, _, errors = here(*words, "")
      assert_equal 2, status
      assert_match(/#{words.last} is empty: is the variable that holds it set\?/, errors)
    end
  end

  def refused_at(monitor)
    event = monitor.next_event(timeout: PATIENCE) until event&.name == :handshake_failed_auth
    assert_equal 400, event.value
  end

  # Connects as a stranger, and waits for the refusal.
  def assert_stranger_refused(type, endpoint)
    socket = open_socket(type, curve: Godwit::Curve.keypair, server_key: @server)
    monitor = own(socket.monitor(:handshake_failed_auth))
    socket.connect(endpoint)
    refused_at(monitor)
  end

  test "log tail --bind shows records of the clients in DIR alone" do
    tail = start("log", "tail", place("in"), "--bind", "--count", 1, "--timeout", 60, *serving)
    eventually { File.socket?(path("in")) }
    assert_equal 1,
      here("log", "send", place("in"), *as("stranger"), "--timeout", 0.5, "x").first
    assert_equal 0, here("log", "send", place("in"), *as("anna"), "hello").first
    assert_includes assert_child(tail.finish).stdout, "hello"
  end

  test "log serve protects every side, and --durable-in too" do
    File.write(path("server"), @server.keypair.secret_key, perm: 0o600)
    serve = start(
      "log", "serve", "--in", place("in"), "--out", place("out"), "--control", place("control"),
      "--durable-in", place("durable"), "--file", path("app.log"),
      "--keys", path("server"), "--clients", clients
    )
    eventually { %w[in out control durable].all? { |name| File.socket?(path(name)) } }
    known = {curve: @anna, server_key: @server}
    tail = own(Godwit::Logger::Reader.subscribe(place("out"), context: context, **known))
    tail.wait_connected(timeout: PATIENCE)
    log = Godwit::Logger.new(place("durable"), durable: path("journal"), **known)
    log.info("durable")
    assert_equal "durable", tail.recv(timeout: PATIENCE).text
    assert_equal 0, here("log", "send", place("in"), *as("anna"), "hello").first
    assert_equal "hello", tail.recv(timeout: PATIENCE).text
    assert_equal 0, here("log", "stats", place("control"), *as("anna")).first
    {in: :PUSH, out: :SUB, control: :REQ, durable: :DEALER}.each do |name, type|
      assert_stranger_refused(type, place(name))
    end
    log.close
    assert_equal 0, serve.signal(:TERM).finish.status.exitstatus
    assert_equal 2, File.readlines(path("app.log")).grep(/durable|hello/).size
  end

  test "--clients is for servers with --keys" do
    [
      ["log", "serve", "--in", place("in"), "--out", place("out"), "--clients", clients],
      ["log", "tail", place("in"), "--bind", "--clients", clients],
      ["log", "tail", place("in"), *as("anna"), "--clients", clients],
      ["log", "stats", place("in"), "--clients", clients],
      ["log", "send", place("in"), "--clients", clients, "text"],
      ["sh", "pull", place("in"), "--bind", "--clients", clients],
      ["sh", "pull", place("in"), *as("anna"), "--clients", clients],
      ["sh", "push", place("in"), "--clients", clients, "--", "true"]
    ].each do |words|
      status, out, err = here(*words)
      assert_equal [2, ""], [status, out], words.join(" ")
      assert_includes err, "--clients"
    end
    status, _, err = here(
      "log", "tail", place("in"), "--bind", "--keys", path("server.key_secret"),
      "--clients", path("none")
    )
    assert_equal 2, status
    assert_match(/--clients: .*No such file/, err)
  end

  test "--keys refuses a file that others may read" do
    File.write(path("bare"), @anna.keypair.secret_key)
    [path("bare"), path("anna.key_secret")].each do |file|
      File.chmod(0o644, file)
      status, out, err = here(
        "log", "send", place("in"), "--keys", file, "--server-key", path("server.key"), "text"
      )
      assert_equal [2, ""], [status, out]
      assert_match(/--keys: .*chmod 600 #{Regexp.escape(file)}/, err)
      refute_includes err, @anna.keypair.secret_key
    end
    File.chmod(0o644, path("server.key_secret"))
    status, _, err = here(
      "log", "send", place("in"), "--server-key", path("server.key_secret"), "text"
    )
    assert_equal 2, status
    assert_match(/--server-key: .*chmod 600/, err)
  end
end
