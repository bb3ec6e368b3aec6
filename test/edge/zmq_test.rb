# frozen_string_literal: true

require_relative "support/edge_case"

# Edge::ZMQ in front of back ends of CRuby.
class EdgeZMQTest < EdgeCase
  # "/NAME?TEXT" sends TEXT through the peer of that name.
  ASKS = <<~RUBY
    run ->(env) {
      peer = PEERS[env["PATH_INFO"]]
      text = env["QUERY_STRING"].split("+")
      reply = peer.request((text.size == 1) ? text[0] : text)
      [200, {}, [reply.is_a?(Array) ? reply.inspect : reply]]
    }
  RUBY

  # @param peers [Hash{String => String}] the arguments of Edge::ZMQ.new for each path
  def asking(peers)
    news = peers.map { |path, arguments| "#{path.inspect} => Edge::ZMQ.new(#{arguments})" }
    edge("PEERS = {#{news.join(", ")}}\n#{ASKS}")
  end

  test "a ROUTER and a REP answer, in any order" do
    router = back_end
    rep = back_end(BackEnd::REP)
    server = asking("/router" => "'#{router.endpoint}', timeout: 60",
      "/rep" => "'#{rep.endpoint}', timeout: 60")
    assert_equal "eur", server.get("/rep?eur").body
    assert_equal %(["a", "", "b"]), server.get("/rep?a++b").body
    assert_equal %(["one", "two"]), server.get("/router?frames").body
    held = Array.new(5) { |i| connection("/router?hold#{i}") }
    router.wait_for("holds 5")
    assert_equal "other", server.get("/router?other").body # passes them
    assert_equal "release", server.get("/router?release").body
    assert_equal (0...5).map { |i| "hold#{i}" }, held.map { |one| one.answer.body }
    assert_equal %w[twice1 twice2], [1, 2].map { |i| server.get("/router?twice#{i}").body }
    others = Array.new(10) { |i| connection("/rep?#{i}") }
    assert_equal (0...10).map(&:to_s), others.map { |one| one.answer.body }
  end

  test "late replies are dropped, and the time-out is 504" do
    router = back_end
    server = asking("/quick" => "'#{router.endpoint}', timeout: 0.05",
      "/slow" => "'#{router.endpoint}', timeout: 60")
    assert_equal "warm", server.get("/slow?warm").body
    eventually { server.get("/quick?warm").code == "200" }
    answer = server.get("/quick?lose")
    assert_equal ["504", %({"error":"timeout"})], [answer.code, answer.body]
    assert_equal "504", server.get("/quick?hold").code
    assert_equal "release", server.get("/slow?release").body # the late reply to "hold" comes
    assert_equal "next", server.get("/slow?next").body
    eventually { (answer = server.get("/quick?next")).code == "200" }
    assert_equal "next", answer.body
  end

  test "a request waits for a peer within its own time, then it is 502; above queue: it is 503" do
    endpoint = "tcp://127.0.0.1:#{Godwit::TestSupport::Ports.free}"
    server = asking("/quick" => "'#{endpoint}', timeout: 0.05",
      "/slow" => "'#{endpoint}', timeout: 60, queue: 3")
    answer = server.get("/quick?x")
    assert_equal ["502", %({"error":"bad_gateway"})], [answer.code, answer.body]
    waiting = Array.new(3) { |i| connection("/slow?#{i}") }
    answer = nil
    eventually { (answer = server.get("/slow?#{waiting.size}")).code == "503" }
    assert_equal %({"error":"busy"}), answer.body
    assert_match(/Edge::ConnectionError: no peer at tcp:/, server.log)
    assert_match(/Edge::BusyError: 3 requests wait for tcp:/, server.log)
    waiting.shift.close # a request that has left is not sent, and its place is free
    eventually { server.accesses.any? { |line| line.start_with?("499") } }
    waiting << connection("/slow?3")
    back = back_end(<<~'RUBY', endpoint: endpoint)
      socket = Godwit::ROUTER.bind(ENDPOINT)
      puts "ready"
      loop { socket.send(socket.recv.tap { |message| puts "got #{message.last}" }) }
    RUBY
    assert_equal %w[1 2 3], waiting.map { |one| one.answer.body }
    assert_equal "last", server.get("/slow?last").body
    back.wait_for("got last")
    refute_match(/got [0x]/, back.output)
  end

  test "several endpoints share the requests, and one that ends leaves them to the other" do
    one, two = Array.new(2) do |number|
      back_end(<<~RUBY)
        socket = Godwit::REP.bind(ENDPOINT)
        puts "ready"
        loop { socket.recv; socket.send("#{number}") }
      RUBY
    end
    server = asking("/" => "'#{one.endpoint}', '#{two.endpoint}', timeout: 1")
    answers = []
    eventually { (answers << server.get("/?x").body).uniq.size == 2 }
    one.kill
    eventually { answers.push(server.get("/?x").body).last(4) == ["1"] * 4 }
  end

  test "CURVE, and options of DEALER" do
    keys = Godwit::Curve.keypair
    pair = "Godwit::Curve::Keypair.new(secret_key: #{keys.secret_key.inspect})"
    router = back_end(options: "{curve: #{pair}}")
    other = Godwit::Curve.keypair
    server = edge(<<~RUBY + ASKS)
      PEERS = {
        "/good" => Edge::ZMQ.new("#{router.endpoint}", timeout: 60, curve: Godwit::Curve.keypair,
          server_key: #{keys.public_key.inspect}),
        "/bad" => Edge::ZMQ.new("#{router.endpoint}", timeout: 0.1, curve: Godwit::Curve.keypair,
          server_key: #{other.public_key.inspect})
      }
      WRONG = [{wrong: 1}, {timeout: 0}, {timeout: "1"}, {queue: 0}, {queue: 1.5}].map do |options|
        Edge::ZMQ.new("#{router.endpoint}", **options)
      rescue StandardError => error
        error.class.to_s
      end
      PEERS["/wrong"] = Class.new { def request(_) = WRONG }.new
    RUBY
    assert_equal "secret", server.get("/good?secret").body
    assert_includes %w[502 504], server.get("/bad?x").code
    wrong = JSON.parse(server.get("/wrong?x").body)
    assert_equal 5, wrong.grep(/Argument|Option/).size, wrong.inspect
  end
end
