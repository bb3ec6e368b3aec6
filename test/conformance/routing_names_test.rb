# frozen_string_literal: true

# libzmq: test_connect_rid

require_relative "case"

# Names given by connect_routing_id. libzmq ends the process when a name is used twice, so child
# processes run these programs.
class RoutingNamesTest < Conformance::Case
  # Runs each program in a child.
  # @return [Array<String>] for each program, the message of the error that its last line raises
  def outcomes(*programs)
    tries = programs.map { |program| <<~RUBY }
      begin
        #{program.gsub("\n", "\n  ")}
        puts "nothing raised"
      rescue Godwit::OptionError => error
        puts error.message
      end
    RUBY
    assert_child(run_child("require 'godwit'\n#{tries.join}")).stdout.lines
  end

  ONCE =
    Regexp.new("connect_routing_id.*takes each name once in a socket's life, and \"x\" was given " \
      "before: take another, or a new socket")
  BEFORE =
    Regexp.new("connect_routing_id.*before any bind, any connect without a name and " \
      "immediate: true.*take another ROUTER")

  %i[ROUTER STREAM].each do |type|
    test "a #{type} refuses a name twice: of a live peer, of a leaving peer" do
      start = <<~RUBY
        peer = Godwit::#{type}.bind("tcp://127.0.0.1:*")
        one = Godwit::#{type}.connect(peer.last_endpoint, connect_routing_id: "x")
      RUBY
      live, gone, unused = outcomes("#{start}one.connect_routing_id = 'x'", <<~GONE, <<~UNUSED)
        #{start}one.disconnect(peer.last_endpoint)
        one.connect_routing_id = "x"
        one.connect(peer.last_endpoint)
      GONE
        #{start}one.connect_routing_id = "y"
        one.connect_routing_id = "z"
        one.connect(peer.last_endpoint)
      UNUSED
      assert_match ONCE, live
      assert_match ONCE, gone
      assert_equal "nothing raised\n", unused
    end
  end

  test "a ROUTER gives no name where a peer may have given itself the same" do
    immediate = "Godwit::ROUTER.connect('tcp://127.0.0.1:5555', connect_routing_id: 'x', " \
      "immediate: true)"
    texts = outcomes(<<~BOUND, <<~CONNECTED, <<~NAMED, immediate)
      router = Godwit::ROUTER.bind("tcp://127.0.0.1:*")
      dealer = Godwit::DEALER.connect(router.last_endpoint, routing_id: "x")
      dealer << "hello"
      router.recv(timeout: 5)
      router.connect_routing_id = "x"
      router.connect("tcp://127.0.0.1:5555")
    BOUND
      router = Godwit::ROUTER.new
      dealer = Godwit::DEALER.bind("tcp://127.0.0.1:*", routing_id: "x")
      router.connect(dealer.last_endpoint)
      dealer << "hello"
      router.recv(timeout: 5)
      router.connect_routing_id = "x"
      router.connect("tcp://127.0.0.1:5555")
    CONNECTED
      # The constructor accepts the name before it binds the socket.
      router = Godwit::ROUTER.bind('tcp://127.0.0.1:*', connect_routing_id: 'x')
      router.connect('tcp://127.0.0.1:5555')
    NAMED
    assert_equal 4, texts.size
    texts.each { |text| assert_match BEFORE, text }
  end

  each_transport("names first, then bind: both kinds of peers are served") do |transport|
    dealer = open_socket(:DEALER).bind(endpoint_for(transport))
    other = open_socket(:DEALER).bind(endpoint_for(transport))
    router = open_socket(:ROUTER, connect_routing_id: "one").connect(dealer.last_endpoint)
    router.connect_routing_id = "two"
    router.connect(other.last_endpoint).bind(endpoint_for(transport))
    guest = open_socket(:DEALER, routing_id: "guest").connect(router.last_endpoint)
    guest << "hello"
    assert_equal ["guest", "hello"], router.recv(timeout: 5)
    router << %w[one 1] << %w[two 2] << %w[guest 3]
    assert_equal %w[1 2 3], [dealer, other, guest].map { |socket| socket.recv(timeout: 5) }
  end

  test "a connect that fails leaves the name for the next" do
    dealer = open_socket(:DEALER).bind(endpoint_for(:tcp))
    router = open_socket(:ROUTER, connect_routing_id: "x")
    assert_raises(Godwit::EndpointError) { router.connect("nonsense") }
    assert_raises(Errno::ENAMETOOLONG) { router.connect("ipc:///#{"x" * 200}") }
    router.connect(dealer.last_endpoint)
    router << %w[x hello]
    assert_equal "hello", dealer.recv(timeout: 5)
  end
end
