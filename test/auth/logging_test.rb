# frozen_string_literal: true

require "test_helper"
require "godwit/logger"
require_relative "../conformance/assertions"
require_relative "../conformance/authenticated"

# The logger's parts pass `auth:` on to their sockets. Reader and Broadcaster, which the commands
# open: test/cli/clients_test.rb.
class AuthLoggingTest < Godwit::TestCase
  include Conformance::Assertions
  include Conformance::Authenticated

  def setup
    super
    skip "this libzmq has no CURVE" unless Godwit.has?(:curve)
    @server = Godwit::Cert.new("server")
    @anna = Godwit::Cert.new("anna")
    auth.curve(keys: {"anna" => @anna.public_key}, domain: "logs")
  end

  def protected_by = {curve: @server, auth: "logs", context: context}

  def known = {curve: @anna, server_key: @server}

  def stranger = {curve: Godwit::Curve.keypair, server_key: @server}

  def logger(endpoint, **options)
    log = Godwit::Logger.new(endpoint, linger: 0, **options)
    (@loggers ||= []) << log
    log
  end

  def teardown
    capture_io { @loggers&.each(&:close) }
    super
  end

  test "the input of a Broadcaster over inproc has no security" do
    assert_named(Godwit::EndpointError, /auth: needs a handshake/) do
      Godwit::Logger::Broadcaster.new("inproc://records", **protected_by)
    end
  end

  test "a Receiver takes durable records of writers that its Auth knows" do
    sink = Godwit::Logger::Sink.new(File.join(scratch_dir, "app.log"))
    receiver = own(Godwit::Logger::Receiver.new("tcp://127.0.0.1:*", sink, **protected_by))
    log = logger(receiver.last_endpoint, durable: File.join(scratch_dir, "journal"), **known)
    log.info("hello")
    eventually { receiver.stats.written == 1 }
    assert_equal "anna", decision.user_id
    assert_includes File.read(File.join(scratch_dir, "app.log")), "hello"
    receiver.close
    sink.close
  end

  {Godwit::Logger => :info, Godwit::LogDevice => :write}.each do |type, name|
    test "a #{type} that binds admits the readers that its Auth knows" do
      endpoint = endpoint_for(:ipc_file)
      log = type.new(endpoint, bind: true, linger: 0, **protected_by)
      (@loggers ||= []) << log
      log.public_send(name, "hello")
      pull = open_socket(:PULL, reconnect_interval: 0.01, **known).connect(endpoint)
      assert pull.recv(timeout: PATIENCE)
      assert_equal "anna", decision.user_id
      open_socket(:PULL, reconnect_interval: 0.01, **stranger).connect(endpoint)
      assert_equal 400, decision.status
    end
  end

  test "a Logger refuses at once what does not go together" do
    [
      [Godwit::ArgumentValueError, /make the socket a client/, {auth: "logs", **known}],
      [Godwit::ArgumentValueError, /auth: takes a domain/, {auth: ""}]
    ].each do |error, says, options|
      assert_named(error, says) { Godwit::Logger.new("tcp://127.0.0.1:5555", **options) }
    end
    assert_named(Godwit::EndpointError, /auth: needs a handshake/) do
      Godwit::Logger.new("inproc://records", bind: true, auth: "logs")
    end
  end
end
