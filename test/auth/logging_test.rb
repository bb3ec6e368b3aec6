# frozen_string_literal: true

require "test_helper"
require "godwit/logger"
require_relative "../conformance/assertions"
require_relative "../conformance/authenticated"

# The logger's classes pass `auth:` on to their sockets. test/cli/clients_test.rb tests `auth:` for
# Reader and Broadcaster, which commands open.
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

  def teardown
    capture_io { @log&.close }
    super
  end

  test "a Broadcaster and a Receiver give auth: to their sockets, which refuse it over inproc" do
    sink = own(Godwit::Logger::Sink.new(path("app.log")))
    {Godwit::Logger::Broadcaster => [], Godwit::Logger::Receiver => [sink]}.each do |type, more|
      assert_named(Godwit::EndpointError, /auth: needs a handshake/) do
        type.new("inproc://records", *more, **protected_by)
      end
    end
  end

  {Godwit::Logger => :info, Godwit::LogDevice => :write}.each do |type, name|
    test "a #{type} that binds admits the readers that its Auth knows" do
      endpoint = endpoint_for(:ipc_file)
      @log = type.new(endpoint, bind: true, linger: 0, **protected_by)
      @log.public_send(name, "hello")
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
