# frozen_string_literal: true

# libzmq: test_security_no_zap_handler, test_security_null

require_relative "case"
require_relative "authenticated"

# An Auth between real servers and clients: which clients it admits, and what closing it does.
class AuthTest < Conformance::Case
  include Conformance::Authenticated

  NETWORK = %i[tcp ipc].freeze # libzmq has no security over inproc

  def setup
    super
    @keys = Godwit::Curve.keypair
    @anna = Godwit::Cert.new("anna", metadata: {"email" => "a@b"})
  end

  def protected_server(transport = :tcp, **options)
    server(transport, curve: @keys, auth: "billing", **options)
  end

  def anna(server, curve: @anna, **options)
    client(server, curve: curve, server_key: @keys.public_key, **options)
  end

  def stranger(server)
    anna(server, curve: Godwit::Curve.keypair).send_nonblock("let me in", exception: false)
  end

  each_transport("a client with a certificate is served by name", only: NETWORK) do |transport|
    @anna.save_public(scratch_dir)
    auth.curve(dir: scratch_dir)
    rep = protected_server(transport)
    assert_equal "anna", who(anna(rep))
    granted = decision
    assert_equal [true, "billing", "CURVE", "anna", @anna.public_key, 200],
      [granted.granted?, granted.domain, granted.mechanism, granted.user_id, granted.key,
        granted.status]
    assert_match((transport == :tcp) ? /\A127\.0\.0\.1\z/ : /\Alocalhost:\d+:\d+:/, granted.address)
    stranger(rep)
    refused = decision
    assert_equal [false, 400, nil, "its key is not known"],
      [refused.granted?, refused.status, refused.user_id, refused.reason]
    assert_equal "a@b", auth.cert("anna").metadata["email"]
    File.unlink(File.join(scratch_dir, "anna.key"))
    anna(rep).send_nonblock("again", exception: false)
    refused = decision until refused.key == @anna.public_key
    assert_equal 400, refused.status
  end

  each_transport("PLAIN and NULL clients", only: NETWORK) do |transport|
    auth.plain(users: {"anna" => "secret"})
    plain = server(transport, plain_server: true, auth: "plain")
    assert_equal "anna", who(client(plain, plain: %w[anna secret]))
    assert_equal "granted PLAIN client anna", decision.to_s[/\A.*?anna/]
    client(plain, plain: %w[anna guess]).send_nonblock("x", exception: false)
    refused = decision
    assert_equal ["its name or password is wrong", nil, nil],
      [refused.reason, refused.user_id, refused.key]
    refute_match(/guess/, refused.inspect)
    null = server(transport, auth: "null")
    assert_equal "nobody", who(client(null))
    assert_predicate decision, :granted?
    (transport == :tcp) ? auth.deny("127.0.0.1") : auth.deny(uid: Process.uid)
    client(null).send_nonblock("x", exception: false)
    assert_equal "a deny rule matches its address", decision.reason
  end

  test "a client that comes before the Auth is served without further action" do
    rep = protected_server(handshake_timeout: 1)
    waiting = in_thread { anna(rep).send("who am I?").recv(timeout: PATIENCE) }
    monitor = own(rep.monitor(:handshake_failed_no_detail))
    monitor.next_event(timeout: PATIENCE)
    auth # has no rule yet
    assert_equal 300, decision.status
    auth.curve(keys: {"anna" => @anna.public_key})
    assert_equal "anna", ended(waiting)
  end

  test "after a 400, REQ#request comes back by itself" do
    auth.curve(keys: {})
    rep = protected_server
    monitor = own(rep.monitor(:disconnected))
    req = anna(rep)
    monitor.next_event(timeout: PATIENCE)
    assert_raises(Godwit::TimeoutError) { req.request("let me in", timeout: 0.05) }
    monitor.next_event(timeout: PATIENCE)
    assert_equal [400, 400], [decision.status, decision.status], "the new connection is refused too"
    auth.curve(keys: {"anna" => @anna.public_key})
    assert_equal "anna", req.request("who am I?", timeout: 0.5, retries: 2 * PATIENCE)
  end

  test "a second Auth in the same context raises, after the close of the first it does not" do
    first = auth
    assert_named(Godwit::AddressInUseError, /has an authenticator.*close/) do
      Godwit::Auth.new(context: context)
    end
    assert_nil first.close
    assert_nil first.close
    assert_predicate first, :closed?
    assert_equal "#<Godwit::Auth (closed)>", first.inspect
    second = own(Godwit::Auth.new(context: context))
    assert_equal ["#<Godwit::Auth>", context], [second.inspect, second.context]
    other = own(Godwit::Context.new)
    own(Godwit::Auth.new(context: other))
  end

  test "after its close the Auth has no thread, and admits nobody where auth: asks for it" do
    auth.curve { |key, _| key }
    rep = protected_server(handshake_timeout: 1)
    before = anna(rep)
    assert_equal @anna.public_key, who(before)
    auth.close
    eventually { live_threads.none? { |thread| thread.name.to_s.start_with?("godwit auth") } }
    assert_refused_by_silence(rep)
    assert_equal @anna.public_key, who(before), "connections stay"
  end

  test "a dead Auth admits nobody, not even without auth:" do
    auth.curve(keys: :any)
    rep = protected_server(handshake_timeout: 1)
    bare = server(curve: @keys, handshake_timeout: 0.2)
    threads_named("godwit auth").each { |thread| thread.kill && thread.join }
    [rep, bare].each { |one| assert_refused_by_silence(one) }
    refute_predicate auth, :closed?
    auth.close
    watched(own(Godwit::Auth.new(context: context))).curve(keys: {"x" => @anna.public_key})
    assert_equal "x", who(anna(rep))
  end

  # The server refuses the client without a reply. The client tries again, so two handshakes fail.
  def assert_refused_by_silence(rep)
    monitor = own(rep.monitor(:handshake_failed_no_detail, :handshake_succeeded))
    socket = anna(rep, linger: 0.02)
    socket.send_nonblock("let me in", exception: false)
    2.times { assert_equal :handshake_failed_no_detail, monitor.next_event(timeout: PATIENCE).name }
    assert_nil socket.recv(timeout: 0, exception: false)
    socket.close
  end

  %i[close shutdown].each do |ending|
    test "the context's #{ending} ends its Auth, and does not wait for a block" do
      begun = Thread::Queue.new
      held = Thread::Queue.new
      other = own(Godwit::Context.new)
      other_auth = Godwit::Auth.new(context: other)
      other_auth.curve { begun << true && held.pop }
      rep = own(Godwit::REP.bind("tcp://127.0.0.1:*", context: other, curve: @keys, auth: "x"))
      anna(rep)
      begun.pop
      thread, = threads_named("godwit auth")
      other.public_send(ending)
      ended(thread)
      assert_predicate other_auth, :closed?
      assert_nil other_auth.close
      held << nil
    end
  end
end
