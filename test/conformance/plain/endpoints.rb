# frozen_string_literal: true

# Endpoints, contexts, constructors.

Plain.scenario "a wildcard port becomes a number" do
  ["tcp://127.0.0.1:*", "tcp://127.0.0.1:0", "tcp://*:*"].each do |wildcard|
    dealer = open_socket(:DEALER)
    assert_nil dealer.port
    assert_nil dealer.last_endpoint
    assert_same dealer, dealer.bind(wildcard)
    assert_includes 1..65_535, dealer.port
    assert dealer.last_endpoint.end_with?(":#{dealer.port}")
    assert_equal [dealer.last_endpoint], dealer.endpoints
    assert_flows(open_socket(:DEALER).connect("tcp://127.0.0.1:#{dealer.port}"), dealer)
  end
end

Plain.scenario "endpoints, last_endpoint and port in the order of the calls" do
  name = endpoint_for(:inproc)
  dealer = open_socket(:DEALER).bind("tcp://127.0.0.1:*", name).connect("tcp://127.0.0.1:9")
  assert_equal ["tcp://127.0.0.1:#{dealer.port}", name, "tcp://127.0.0.1:9"], dealer.endpoints
  assert_equal "tcp://127.0.0.1:9", dealer.last_endpoint
  assert_equal "#<Godwit::DEALER bound to tcp://127.0.0.1:#{dealer.port}, bound to #{name}, " \
    "connected to tcp://127.0.0.1:9>", dealer.inspect
  dealer.endpoints << "mine"
  assert_equal 3, dealer.endpoints.size
end

Plain.scenario "ports: requires a tcp wildcard, and is a Range of numbers" do
  allowed = "a Range of numbers that is not empty, for an endpoint that ends in :*"
  [["tcp://127.0.0.1:5555", 5000..5001, "5000..5001 (Range)"],
    ["inproc://x", 5000..5001, "5000..5001 (Range)"],
    ["tcp://127.0.0.1:*", "5000", "\"5000\" (String)"],
    ["tcp://127.0.0.1:*", 5000, "5000 (Integer)"],
    ["tcp://127.0.0.1:*", "a".."b", "\"a\"..\"b\" (Range)"],
    ["tcp://127.0.0.1:*", 10...10, "10...10 (Range)"]].each do |endpoint, ports, shown|
    refused(Godwit::ArgumentValueError, "bind: ports: takes #{allowed}: got #{shown}") do
      open_socket(:DEALER).bind(endpoint, ports: ports)
    end
  end
  error = assert_raises(Godwit::EndpointError) do
    open_socket(:DEALER).bind("tcp://127.0.0.1:*", ports: 70_000..70_001)
  end
  assert_includes error.message, "65535"
  taken = open_socket(:DEALER).bind("tcp://127.0.0.1:*").port
  refused(Godwit::AddressInUseError, "bind tcp://127.0.0.1:*: Address already in use (no port of " \
    "#{taken}..#{taken} is free)") do
    open_socket(:DEALER).bind("tcp://127.0.0.1:*", ports: taken..taken)
  end
end

Plain.scenario "bind refuses an ipc path that holds anything but a socket, and deletes nothing" do
  path = "/tmp/#{endpoint_for(:inproc).split("/").last}"
  denied = ->(place, what) do
    refused(Godwit::AddressInUseError, "bind ipc://#{place}: Address already in use (the path " \
      "holds #{what}, and bind replaces a socket alone: use another path, or remove it)") do
      open_socket(:PULL).bind("ipc://#{place}")
    end
  end
  begin
    File.open(path, "w") { |file| file.write("notes") } # standard:disable Style/FileWrite
    denied.call(path, "a file that is no socket")
    assert_equal "notes", File.read(path)
    denied.call("/etc", "a folder")
    denied.call("/dev/zero", "a file that is no socket")
    denied.call("/dev/stdin", "a symbolic link")
    File.delete(path)
    2.times { open_socket(:PULL).bind("ipc://#{path}") } # the second bind replaces the first file
    assert File.socket?(path)
  ensure
    File.delete(path) if File.exist?(path)
  end
end

Plain.scenario "connect to an IPv6 address without ipv6: true says that it is missing" do
  ["tcp://[::1]:5555", "tcp://[fe80::1%lo]:5555", "tcp://127.0.0.1:0;[::1]:5555",
    "tcp://[::1]:0;127.0.0.1:5555"].each do |endpoint|
    push = open_socket(:PUSH)
    refused(Godwit::InterfaceError, "connect #{endpoint}: No such device (an IPv6 address needs " \
      "the option ipv6: true, on the socket or on its Context)") { push.connect(endpoint) }
    assert_empty push.endpoints
    push.ipv6 = true
    assert_equal [endpoint], push.connect(endpoint).endpoints
  end
  six = own(Godwit::Context.new(ipv6: true))
  own(six.socket(:PUSH)).connect("tcp://[::1]:5555")
  open_socket(:PUSH).connect("tcp://[127.0.0.1]:5555", "inproc://[::1]:5555")
end

Plain.each_transport "unbind, by the name given or resolved" do |transport|
  2.times do |i|
    given = endpoint_for(transport)
    dealer = open_socket(:DEALER).bind(given)
    assert_same dealer, dealer.unbind((i == 0) ? given : dealer.last_endpoint)
    assert_empty dealer.endpoints
    assert_nil dealer.last_endpoint
  end
end

Plain.each_transport "disconnect: later messages go to other peers" do |transport|
  first, second = Array.new(2) { open_socket(:PULL).bind(endpoint_for(transport)) }
  push = open_socket(:PUSH).connect(first.last_endpoint, second.last_endpoint)
  assert_same push, push.disconnect(first.last_endpoint)
  assert_equal [second.last_endpoint], push.endpoints
  3.times { |i| push << i.to_s }
  assert_equal %w[0 1 2], take(second, 3)
  refute_predicate first, :readable?
  push.connect(first.last_endpoint)
  4.times { |i| push << i.to_s }
  assert_equal 4, take(first, 2).size + take(second, 2).size
end

Plain.each_transport "unbind and disconnect of unknown endpoints" do |transport|
  bound, connected = connected_pair(:DEALER, :DEALER, transport: transport)
  hint = "No such endpoint (endpoints lists the endpoints of the socket, with wildcards resolved)"
  [[bound, :unbind, "inproc://other"], [connected, :disconnect, "inproc://other"],
    [bound, :disconnect, bound.last_endpoint],
    [connected, :unbind, bound.last_endpoint]].each do |socket, operation, endpoint|
    error = refused(Godwit::NoEndpointError, "#{operation} #{endpoint}: #{hint}") do
      socket.__send__(operation, endpoint)
    end
    assert_equal [operation, endpoint], [error.operation, error.endpoint]
    assert_kind_of Errno::ENOENT, error
  end
  assert_flows(bound, connected)
end

Plain.each_transport "an endpoint that is in use" do |transport|
  pull = open_socket(:PULL).bind(endpoint_for(transport))
  taken = pull.last_endpoint
  fix = {
    tcp: "another socket is bound there; use another port, or * for any free one",
    ipc: "another socket is bound there; use another address",
    inproc: "another socket of this context is bound to the name; use another name"
  }.fetch(transport)
  push = open_socket(:PUSH).connect(taken)
  error = refused(Godwit::AddressInUseError, "bind #{taken}: Address already in use (#{fix})") do
    push.bind(taken)
  end
  assert_kind_of Errno::EADDRINUSE, error
  assert_equal [taken, true, Errno::EADDRINUSE::Errno],
    [error.endpoint, error.retriable?, error.errno]
  assert_flows(push, pull)
end

Plain.scenario "malformed endpoints are refused by name and with the fix" do
  pull, push = connected_pair(:PULL, :PUSH)
  push << "accepted before"
  form = "an endpoint is transport://address, such as tcp://127.0.0.1:5555, ipc:///tmp/name or " \
    "inproc://name"
  number = "a port is a number from 0 to 65535, or * for any free one"
  {
    "nonsense" => form, "" => form, "127.0.0.1:5555" => form, "tcp:/127.0.0.1:5555" => form,
    "tcp//127.0.0.1:5555" => form, "://x" => form, "tcp ://127.0.0.1:1" => form,
    "TCP://127.0.0.1:1" => form, "inproc://a\0b" => form, "ipc://a\0b" => form,
    "ipc://" => "nothing stands behind ipc://", "tcp://" => "nothing stands behind tcp://",
    "inproc://" => "nothing stands behind inproc://",
    "tcp://:5555" => "a host is missing: tcp://127.0.0.1:5555, or * for every interface",
    "tcp://127.0.0.1" => "a port is missing: tcp://127.0.0.1:5555",
    "tcp://127.0.0.1:" => "a port is missing: tcp://127.0.0.1:5555",
    "tcp://127.0.0.1:70000" => number, "tcp://127.0.0.1:65536" => number,
    "tcp://127.0.0.1:99999999999999999999" => number, "tcp://127.0.0.1:-1" => number,
    "tcp://127.0.0.1:http" => number, "tcp://127.0.0.1:1e3" => number,
    "tcp://::1:5555" => "an IPv6 address stands in brackets: tcp://[::1]:5555",
    "tcp://[fe80::1]%lo:5555" => "an IPv6 address stands in brackets: tcp://[fe80::1%lo]:5555"
  }.each do |endpoint, fix|
    shown = endpoint.tr("\0", "?")
    error = refused(Godwit::EndpointError, "bind #{shown}: Malformed endpoint (#{fix})") do
      pull.bind(endpoint)
    end
    assert_kind_of Errno::EINVAL, error
    assert_equal [:bind, shown, false], [error.operation, error.endpoint, error.retriable?]
    %i[connect unbind disconnect].each do |operation|
      error = assert_raises(Godwit::EndpointError) { push.__send__(operation, endpoint) }
      assert_equal [operation, shown], [error.operation, error.endpoint]
    end
  end
  {
    "tcp://:5555" => "a host is missing: tcp://127.0.0.1:5555",
    "tcp://127.0.0.1:*" => "only bind takes * for a port",
    "tcp://*:5555" => "only bind takes * for a host: name the machine to connect to",
    "tcp://127.0.0.1:0" => "a port is a number from 1 to 65535"
  }.each do |endpoint, fix|
    refused(Godwit::EndpointError, "connect #{endpoint}: Malformed endpoint (#{fix})") do
      pull.connect(endpoint)
    end
  end
  assert_equal [[pull.last_endpoint], [pull.last_endpoint]], [pull.endpoints, push.endpoints]
  assert_equal "accepted before", pull.recv(timeout: 5)
end

Plain.scenario "an unknown transport, and one that does not fit the type" do
  error = assert_raises(Godwit::ProtocolError) { open_socket(:PULL).bind("pigeon://loft:1") }
  assert_includes error.message, "bind pigeon://loft:1: Protocol not supported (no transport is " \
    "called pigeon; here are tcp, ipc, inproc"
  refused(Godwit::EndpointError, "bind inproc://x: Malformed endpoint (a STREAM speaks to TCP " \
    "alone: give tcp://, or take a PAIR)") { open_socket(:STREAM).bind("inproc://x") }
  assert_raises(Godwit::EndpointError) { open_socket(:STREAM).connect("inproc://x") }
  refused(Godwit::EndpointError, "bind inproc://zeromq.zap.01: Malformed endpoint (a ZAP handler " \
    "is a REP, ROUTER or SERVER)") { open_socket(:PULL).bind("inproc://zeromq.zap.01") }
end

Plain.scenario "an endpoint that is no String, and none at all" do
  {nil => "NilClass", 5555 => "Integer", :tcp => "Symbol", ["tcp://*:*"] => "Array"}
    .each do |what, name|
    %i[bind connect unbind disconnect].each do |operation|
      refused(Godwit::EndpointTypeError, "#{operation}: an endpoint is a String such as " \
        "\"tcp://127.0.0.1:5555\": got #{name}") { open_socket(:PULL).__send__(operation, what) }
    end
  end
  refused(Godwit::ArgumentValueError, "bind: bind needs an endpoint, such as " \
    "\"tcp://127.0.0.1:5555\"") { open_socket(:PULL).bind }
end

Plain.scenario "the block forms give the block's value, and close" do
  kept = []
  assert_equal :value, Godwit::PULL.bind(endpoint_for(:inproc), context: context) { |pull|
    kept << pull
    :value
  }
  assert_raises(ZeroDivisionError) do
    Godwit::PULL.new(context: context) { |pull| kept << pull && 1 / 0 }
  end
  kept << Godwit::Context.new { |one| one.socket(:push) { |push| kept << push } && one }
  Godwit::PULL.new(context: context) { |pull| kept << pull && break }
  assert_equal %i[PULL PULL PUSH PULL], kept.grep(Godwit::Socket).map { |socket| socket.type }
  assert_equal [true] * 5, kept.map { |one| one.closed? }
end

Plain.scenario "constructors name their mistake" do
  refused(Godwit::ArgumentValueError, "new: an endpoint is given to Godwit::PULL.bind or " \
    "Godwit::PULL.connect: Godwit::PULL.connect(\"tcp://127.0.0.1:5555\")") do
    Godwit::PULL.new("tcp://127.0.0.1:5555")
  end
  assert_raises(NoMethodError) { Godwit::Socket.new }
  refused(Godwit::ArgumentTypeError, "new: context: takes a Godwit::Context, or nil for the " \
    "process's own: got 5 (Integer)") { Godwit::PULL.new(context: 5) }
  error = assert_raises(Godwit::ArgumentValueError) { context.socket(:PIGEON) }
  assert_includes error.message, "no socket type :PIGEON: there are PAIR, PUB, SUB, REQ, REP, " \
    "DEALER, ROUTER, PULL, PUSH, XPUB, XSUB, STREAM"
end

Plain.scenario "inproc names belong to one context" do
  name = endpoint_for(:inproc)
  other = own(Godwit::Context.new)
  here = open_socket(:PULL).bind(name)
  there = own(other.socket(:PULL)).bind(name)
  own(other.socket(:PUSH)).connect(name) << "there"
  assert_equal "there", there.recv(timeout: 5)
  refute_predicate here, :readable?
end

Plain.scenario "a context that is shut down, and one that is closed" do
  one = own(Godwit::Context.new(linger: 0))
  pull = own(one.socket(:PULL)).bind(endpoint_for(:inproc))
  assert_nil one.shutdown
  refused(Godwit::ContextTerminatedError, "recv #{pull.last_endpoint}: Context was terminated " \
    "(close the socket; open a new one in a new context)") { pull.recv }
  assert_same pull, pull.each { flunk }
  pull.close
  assert_nil one.close
  assert_nil one.close
  assert_equal [true, "#<Godwit::Context closed>"], [one.closed?, one.inspect]
  assert_raises(Godwit::ClosedError) { one.socket(:PULL) }
end

Plain.scenario "the default context is one, and is made anew after it was closed" do
  first = Godwit.context
  assert_same first, Godwit.context
  first.close
  second = Godwit.context
  refute_predicate second, :closed?
  assert_same second, Godwit::Context.default
end
