# frozen_string_literal: true

# Godwit::Poller with sockets and IOs.

Plain.each_transport "a poller reports what can be received, again and again" do |transport|
  pull, push = connected_pair(:PULL, :PUSH, transport: transport)
  poller = open_poller(pull)
  assert_empty poller.wait(0)
  assert_empty poller.wait(0.01)
  push << "1"
  2.times do
    events = poller.wait(5)
    assert_equal [pull], events.map { |event| event.object }
    assert_equal [[:readable], true, false, false], [events.first.events,
      events.first.readable?, events.first.writable?, events.first.error?]
  end
  assert_equal [[pull], []], [poller.readable, poller.writable]
  assert_equal "1", pull.recv
  assert_empty poller.wait(0)
end

Plain.scenario "a REQ and a REP are ready in turn" do
  rep, req = connected_pair(:REP, :REQ)
  poller = open_poller
  poller.register(rep, :readable, :writable).register(req, :readable, :writable)
  facts = ->(events) { events.map { |event| [event.object, event.events] } }
  3.times do |i|
    assert_equal [[req, [:writable]]], facts.call(poller.wait(5))
    req << i.to_s
    assert_equal [[rep, [:readable]]], facts.call(poller.wait(5))
    assert_equal i.to_s, rep.recv
    assert_equal [[rep, [:writable]]], facts.call(poller.wait(5))
    rep << "reply"
    assert_equal [[req, [:readable]]], facts.call(poller.wait(5))
    assert_equal "reply", req.recv
  end
end

Plain.scenario "a poller of sockets and IOs" do
  pull, push = connected_pair(:PULL, :PUSH)
  out, into = pipe
  poller = open_poller(pull, out)
  poller.register(into, :writable)
  assert_equal [into], poller.wait(5).map { |event| event.object }
  poller.remove(into)
  assert_empty poller.wait(0)
  into.write("x")
  into.flush
  assert_equal [out], poller.wait(5).map { |event| event.object }
  push << "1"
  pull.wait_readable(5)
  assert_equal 2, poller.wait(5).size
  assert_equal "1", pull.recv
  assert_equal [[out, [:readable]]],
    poller.wait(0).map { |event| [event.object, event.events] }
end

Plain.scenario "register, modify, remove, and what they tell" do
  pull, dealer = open_socket(:PULL), open_socket(:DEALER).bind(endpoint_for(:inproc))
  poller = open_poller(pull)
  assert_same poller, poller.register(dealer, :readable, :writable)
  assert_equal [2, false, true], [poller.size, poller.empty?, poller.registered?(dealer)]
  assert_equal [[:readable], %i[readable writable]], [poller.events(pull), poller.events(dealer)]
  assert_equal [pull, dealer], poller.to_a
  assert_same poller, poller.modify(dealer, :writable)
  assert_equal [:writable], poller.events(dealer)
  assert_same poller, poller.remove(pull)
  assert_equal [dealer], poller.map { |thing| thing }
  assert_equal "#<Godwit::Poller 1 registered>", poller.inspect
end

Plain.scenario "a poller names each mistake" do
  pull = open_socket(:PULL)
  poller = open_poller(pull)
  failed = ->(operation, why, &call) do
    refused(Godwit::PollerError, "#{operation}: Not possible with this poller " \
      "(#<Godwit::PULL> (Godwit::PULL) is #{why})", &call)
  end
  failed.call(:register, "registered already: modify changes its events") { poller.register(pull) }
  poller.remove(pull)
  failed.call(:remove, "not registered: it was removed already, or never there") do
    poller.remove(pull)
  end
  failed.call(:modify, "not registered: register it first") { poller.modify(pull, :readable) }
  failed.call(:events, "not registered: register it first") { poller.events(pull) }
  refused(Godwit::UnsupportedError, "register: Operation not supported (a PULL is never " \
    "writable: register(it, :readable))") { poller.register(pull, :writable) }
  refused(Godwit::ArgumentValueError, "register: events takes :readable, :writable or both: got " \
    ":open (Symbol)") { poller.register(pull, :open) }
  refused(Godwit::ArgumentTypeError, "register: a poller takes sockets, IOs and what has to_io: " \
    "got 5 (Integer)") { poller.register(5) }
  assert_raises(Godwit::PollerError) { poller.wait }
  assert_raises(Godwit::ArgumentValueError) { poller.wait(-1) }
  assert_empty poller.wait(0)
end

Plain.scenario "a poller, and a socket in it, that are closed" do
  pull, push = connected_pair(:PULL, :PUSH)
  gone = open_socket(:PULL)
  poller = open_poller(pull, gone)
  gone.close
  error = assert_raises(Godwit::ClosedError) { poller.wait(1) }
  assert_includes error.message, "#{gone.inspect} was closed"
  poller.remove(gone)
  push << "x"
  assert_equal [pull], poller.wait(5).map { |event| event.object }
  assert_nil poller.close
  assert_nil poller.close
  [-> { poller.wait }, -> { poller.register(pull) }, -> { poller.remove(pull) },
    -> { poller.size }].each { |call| assert_raises(Godwit::ClosedError) { call.call } }
  kept = []
  assert_equal :value, Godwit::Poller.new(pull) { |one| kept << one && :value }
  assert_equal [true, false], [kept.first.closed?, pull.closed?]
end
