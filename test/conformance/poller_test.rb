# frozen_string_literal: true

# libzmq: test_poller, test_zmq_poll_fd

require "set"
require "support/tls"
require_relative "case"

class PollerTest < Conformance::Case
  include Godwit::TestSupport::TLS

  test "a PUSH is writable once there is a peer, until it is full, and then again" do
    push = open_socket(:PUSH, send_hwm: 1).bind(endpoint_for(:inproc))
    poller = open_poller.register(push, [:writable])
    assert_empty poller.wait(0)
    waiting = waiting_on(poller) { poller.wait(5) }
    pull = open_socket(:PULL, recv_hwm: 1).connect(push.last_endpoint)
    assert_equal [[push, [:writable]]], facts(waiting.value)
    nil until push.send_nonblock("x", exception: false) == :wait_writable
    assert_empty poller.wait(0)
    assert_empty poller.writable
    waiting = waiting_on(poller) { poller.wait(5) }
    nil until pull.recv_nonblock(exception: false) == :wait_readable
    assert_equal [[push, [:writable]]], facts(waiting.value)
    assert_equal [push], poller.writable
  end

  test "an event that another thread consumes reaches the other waiters" do
    rep, req = connected_pair(:REP, :REQ, transport: :inproc)
    other = open_socket(:REQ).connect(rep.last_endpoint)
    req.send("first")
    other.send("second")
    rep.recv
    poller = open_poller(rep)
    waiting = waiting_on(poller) { poller.wait(5) }
    rep.send("reply")
    assert_equal [[rep, [:readable]]], facts(waiting.value)
  end

  # A call of `send` makes the REQ ready to receive. ZMQ_FD may not signal the reply that follows.
  test "a request that another thread makes between two waits is not missed" do
    rep, req = connected_pair(:REP, :REQ, transport: :inproc)
    poller = open_poller(req)
    200.times do |number|
      assert_empty poller.wait(0)
      req.send(number.to_s)
      rep.send(rep.recv)
      assert_equal [req], poller.wait(5).map(&:object)
      assert_equal number.to_s, req.recv
    end
  end

  test "a recreated REQ stays registered" do
    silent = open_socket(:REP).bind(endpoint_for(:tcp))
    req = open_socket(:REQ).connect(silent.last_endpoint)
    poller = open_poller(req)
    assert_equal "x", ask_without_reply(req, silent, "x")
    silent.send("dropped")
    3.times do
      waiting = waiting_on(poller) { poller.wait(5) }
      assert_flows(req, silent, "y")
      until_waiting(poller)
      silent.send("late")
      assert_equal [req], waiting.value.map(&:object)
      assert_equal "late", req.recv
    end
  end

  test "a PUB is writable, and never readable, even when its subscribers send messages" do
    sub, pub = connected_pair(:PUB, :SUB, connect_options: {subscribe: "a"}).reverse
    poller = open_poller
    assert_named(Godwit::UnsupportedError, /a PUB is never readable/, operation: :register) do
      poller.register(pub, :readable)
    end
    poller.register(pub, :readable, :writable)
    assert_equal [:writable], poller.events(pub)
    sub.subscribe("b")
    pub.wait_connected(count: 2, timeout: 5)
    assert_equal [[pub, [:writable]]], facts(poller.wait(5))
  end

  # ---- IOs ----

  test "an IO is readable at its end, broken when its reader has gone, full and empty" do
    out, into = pipe
    poller = open_poller(out)
    into.close
    assert_equal [[out, [:readable]]], facts(poller.wait(5))
    out, into = pipe
    poller = open_poller.register(into, :writable)
    nil until into.write_nonblock("x" * 65_536, exception: false) == :wait_writable
    assert_empty poller.wait(0)
    waiting = waiting_on(poller) { poller.wait(5) }
    out.readpartial(1_000_000)
    assert_equal [[into, [:writable]]], facts(waiting.value)
    out.close
    assert_equal [[into, %i[writable error]]], facts(poller.wait(5))
    assert_predicate poller.wait.first, :error?
  end

  test "bytes in Ruby's read buffer of an IO count" do
    out, into = pipe
    poller = open_poller(out)
    into << "a\nb\nc"
    assert_equal "a\n", out.gets
    assert_equal [out], poller.wait(0).map(&:object)
    assert_equal "b\n", out.gets
    assert_equal [out], poller.wait(0).map(&:object)
    assert_equal "c", out.readpartial(10)
    assert_empty poller.wait(0)
    out.ungetbyte("d")
    assert_equal [out], poller.wait(0).map(&:object)
    assert_equal "d", out.readpartial(10)
    assert_empty poller.wait(0)
  end

  test "bytes that a TLS connection has read ahead count" do
    client, server = tls_pair
    poller = open_poller(client)
    server.write("a\nb\nc\n")
    assert_equal [client], poller.wait(30).map(&:object)
    assert_equal "a\n", client.gets # Ruby's buffer for OpenSSL retains the rest
    assert_equal [[client, [:readable]]], facts(poller.wait(0))
    assert_equal "b\nc\n", client.readpartial(10)
    assert_empty poller.wait(0)
  end

  test "bytes that a TLS connection has decrypted count" do
    not_on :jruby, "its OpenSSL does not tell what it keeps"
    client, server = tls_pair
    poller = open_poller(client)
    server.write("0123456789")
    assert_equal [client], poller.wait(30).map(&:object)
    assert_equal "0123", client.sysread(4) # OpenSSL buffers the remaining bytes
    poller.modify(client, :readable, :writable)
    assert_equal [[client, %i[readable writable]]], facts(poller.wait(0))
    poller.modify(client, :writable)
    assert_equal [[client, [:writable]]], facts(poller.wait(0))
    poller.remove(client)
    assert_empty poller.wait(0)
  end

  test "plain files, and objects with to_io" do
    server = own(TCPServer.new("127.0.0.1", 0))
    wrapped = Struct.new(:to_io).new(server)
    File.open(__FILE__) do |file|
      poller = open_poller(wrapped, file)
      2.times { assert_equal [[file, [:readable]]], facts(poller.wait) }
      poller.remove(file)
      assert_empty poller.wait(0)
      own(TCPSocket.new("127.0.0.1", server.local_address.ip_port))
      assert_equal [[wrapped, [:readable]]], facts(poller.wait(5))
    end
  end

  test "an IO that is closed while registered is named, and can be removed; its number may be " \
    "another's by then" do
    out, = pipe
    poller = open_poller(out)
    assert_empty poller.wait(0)
    number = out.fileno
    out.close
    error =
      assert_named(
        Godwit::ClosedError, /closed while it was registered: remove it/, operation: :wait
      ) { poller.wait(1) }
    assert_includes error.message, out.inspect
    others = []
    others.concat(IO.pipe) until others.any? { |io| io.fileno == number }
    heir = others.find { |io| io.fileno == number }
    heir_writes = others[others.index(heir) ^ 1]
    heir, heir_writes = heir_writes, heir if others.index(heir).odd?
    poller.register(heir)
    poller.remove(out)
    assert_empty poller.wait(0)
    heir_writes << "y"
    assert_equal [heir], poller.wait(5).map(&:object)
  ensure
    others&.each(&:close)
  end

  # ---- registrations ----

  test "many objects come and go, and the others stay unchanged" do
    pairs = Array.new(12) { connected_pair(:PULL, :PUSH, transport: :inproc) }
    poller = open_poller
    pairs.each { |pull, _| poller.register(pull) }
    gone = pairs.values_at(0, 3, 4, 11)
    gone.each { |pull, _| poller.remove(pull) }
    poller.register(gone.first.first)
    pairs.each { |_, push| push.send("x") }
    expected = pairs.map(&:first) - gone.drop(1).map(&:first)
    yielded = []
    assert_equal expected.to_set, poller.wait(5) { |one| yielded << one }.map(&:object).to_set
    assert_equal expected.to_set, yielded.map(&:object).to_set
    assert_match(/PULL.*readable/, yielded.first.inspect)
    assert_equal (pairs - gone).map(&:first) + [gone.first.first], poller.to_a
  end

  test "errors of wrong use name the fix" do
    pull, push, closed = open_socket(:PULL), open_socket(:PUSH), open_socket(:PULL).tap(&:close)
    poller = open_poller(pull)
    out, = pipe
    unsupported, value = Godwit::UnsupportedError, Godwit::ArgumentValueError
    assert_mistakes(
      -> { poller.modify(pull, :writable) } => [unsupported, /never writable/, :modify],
      -> { open_poller(push) } => [unsupported, /register\(it, :writable\)/],
      -> { poller.modify(pull) } => [value, /:readable, :writable or both/],
      -> { poller.register(out, :readable, :readable) } => [value, /:readable, :writable or both/],
      -> { poller.register(out, :writable) } => [unsupported, /not open for writing/],
      -> { open_poller.wait } => [Godwit::PollerError, /nothing is registered.*for ever/, :wait],
      -> { poller.register(closed) } => [Godwit::ClosedError, /Closed/],
      -> { open_poller(closed) } => [Godwit::ClosedError, /Closed/]
    )
  end

  test "one of two IOs over a descriptor is refused" do
    not_on :ffi, "a poll there has no such limit"
    out, = pipe
    poller = open_poller(out)
    twin = IO.for_fd(out.fileno, autoclose: false)
    assert_named(Godwit::PollerError, /another IO over the descriptor/) { poller.register(twin) }
    assert_equal [out], poller.to_a
  end

  # ---- time-outs ----

  {"thread" => :in_thread, "fiber" => :fiber}.each do |name, start|
    test "the time given to a #{name} passes, then nothing is there" do
      not_on :ffi, "a wait there holds its thread" if start == :fiber
      poller = open_poller(open_socket(:PULL).bind(endpoint_for(:tcp)))
      __send__(start) do
        [poller, open_poller].each { |one| assert_takes(0.02) { assert_empty one.wait(0.02) } }
        [0, 0.0, 1e-9].each { |time| assert_empty poller.wait(time) }
        {Float::NAN => ArgumentError, "1" => TypeError}.each do |time, error|
          assert_raises(error, time.inspect) { poller.wait(time) }
        end
      end.value
    end

    test "register, modify and remove affect a waiting #{name}" do
      not_on :ffi, "a wait there holds its thread" if start == :fiber
      pull, push = connected_pair(:PULL, :PUSH)
      push.send("x")
      pull.wait_readable(5)
      poller = open_poller(open_socket(:PULL))
      waiting = waiting_on(poller, start) { poller.wait(5) }
      poller.register(pull)
      assert_equal [pull], waiting.value.map(&:object)

      poller.remove(pull)
      dealer, = connected_pair(:DEALER, :DEALER, transport: :inproc)
      poller.register(dealer, :readable)
      waiting = waiting_on(poller, start) { poller.wait(5) }
      poller.modify(dealer, :writable)
      assert_equal [dealer], waiting.value.map(&:object)

      poller.modify(dealer, :readable)
      poller.register(pull)
      pull.recv
      out, into = pipe
      poller.register(out)
      waiting = waiting_on(poller, start) { poller.wait(5) }
      poller.remove(pull)
      push.send("not looked for")
      assert_same pull, pull.wait_readable(5)
      into << "x"
      assert_equal [out], waiting.value.map(&:object)
    end
  end

  # ---- many threads and fibers on one poller ----

  test "several threads and fibers on one poller all get the event" do
    not_on :ffi, "a wait there holds its thread"
    pull, push = connected_pair(:PULL, :PUSH)
    out, into = pipe
    poller = open_poller(pull, out)
    [-> { push.send("x") }, -> { into << "x" }].zip([pull, out]) do |feed, thing|
      waiting =
        Array.new(4) { in_thread { poller.wait(5) } } + Array.new(3) { fiber { poller.wait(5) } }
      until_waiting(poller, 7)
      feed.call
      waiting.each { |one| assert_includes one.value.map(&:object), thing }
      thing.equal?(pull) ? pull.recv : out.readpartial(10)
    end
    assert_empty poller.wait(0)
  end

  test "several pollers on one socket" do
    pull, push = connected_pair(:PULL, :PUSH)
    pollers = Array.new(3) { open_poller(pull) }
    3.times do
      waiting = pollers.map { |poller| in_thread { poller.wait(5) } }
      pollers.each { |one| until_waiting(one) }
      push.send("x")
      waiting.each { |one| assert_equal [pull], one.value.map(&:object) }
      pull.recv
      pollers.each { |poller| assert_empty poller.wait(0) }
    end
    pull.close
    pollers.each { |poller| assert_raises(Godwit::ClosedError) { poller.wait(0) } }
  end

  private

  def facts(events) = events.map { |event| [event.object, event.events] }
end
