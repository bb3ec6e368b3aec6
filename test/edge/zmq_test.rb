# frozen_string_literal: true

require_relative "support/edge_case"

# Edge::ZMQ, with servers that run on CRuby.
class EdgeZMQTest < EdgeCase
  # @param peers [Hash{Symbol => String}] constant => source of the arguments of Edge::ZMQ.new
  def start(peers)
    evaluate(peers.map { |name, arguments| "#{name} = Edge::ZMQ.new(#{arguments})\n" }.join)
  end

  # Sends a request to the app, which waits for the peer's reply.
  def begun(peer, text) = connection("/", body: "#{peer}.request('#{text}')")

  # @return [Object] the app's answer to a request of {begun}
  def given(one) = JSON.parse(one.answer.body)

  test "a ROUTER and a REP answer, in any order" do
    router = back_end
    rep = back_end(BackEnd::REP)
    start(ROUTER: "'#{router.endpoint}', timeout: 60", REP: "'#{rep.endpoint}', timeout: 60")
    {
      "REP.request('eur')" => "eur", "REP.request(['a', '', 'b'])" => ["a", "", "b"]
    }.each { |code, reply| assert_equal reply, ask(code), code }
    held = Array.new(5) { |i| begun(:ROUTER, "hold#{i}") }
    eventually { ask("ROUTER.request('count')") == "5" }
    %w[other release].each { |text| assert_equal text, ask("ROUTER.request('#{text}')") }
    # The ROUTER replied to "other" before it replied to the earlier requests "hold…".
    assert_equal (0...5).map { |i| "hold#{i}" }, held.map { |one| given(one) }
    %w[twice1 twice2].each { |text| assert_equal text, ask("ROUTER.request('#{text}')") }
    others = Array.new(10) { |i| begun(:REP, i) }
    assert_equal (0...10).map(&:to_s), others.map { |one| given(one) }
  end

  test "late replies are dropped after the time-out" do
    router = back_end
    start(QUICK: "'#{router.endpoint}', timeout: 0.05", SLOW: "'#{router.endpoint}', timeout: 60")
    assert_equal "warm", ask("SLOW.request('warm')")
    eventually { ask("QUICK.request('warm')") == "warm" }
    %w[lose hold].each do |text|
      assert_match(/\AEdge::TimeoutError: /, ask("QUICK.request('#{text}')"))
    end
    # After "release" the back end also sends the late reply to "hold", which must be dropped.
    %w[release next].each { |text| assert_equal text, ask("SLOW.request('#{text}')") }
    answer = nil
    eventually { (answer = ask("QUICK.request('next')")) !~ /Error/ }
    assert_equal "next", answer
  end

  test "a request waits for a peer within its own time, and no more than queue: wait" do
    endpoint = "tcp://127.0.0.1:#{Godwit::TestSupport::Ports.free}"
    start(QUICK: "'#{endpoint}', timeout: 0.05", SLOW: "'#{endpoint}', timeout: 60, queue: 3")
    assert_match(/\AEdge::ConnectionError: no peer at tcp:/, ask("QUICK.request('x')"))
    waiting = Array.new(3) { |i| begun(:SLOW, i) }
    eventually { ask("SLOW.request('3')").start_with?("Edge::BusyError: 3 requests wait for tcp:") }
    waiting.shift.close # the peer never gets this request, and another request may wait instead
    eventually { @server.accesses.any? { |line| line.start_with?("499") } }
    waiting << begun(:SLOW, 3)
    back_end(endpoint: endpoint)
    assert_equal %w[1 2 3], waiting.map { |one| given(one) }
    assert_equal %w[1 2 3 seen], ask("SLOW.request('seen')").sort
  end

  test "several endpoints share the requests, and one that ends leaves them to the other" do
    one, two = Array.new(2) { back_end }
    start(BOTH: "'#{one.endpoint}', '#{two.endpoint}', timeout: 1")
    answers = []
    eventually { (answers << ask("BOTH.request('endpoint')")).uniq.size == 2 }
    one.kill
    eventually { answers.push(ask("BOTH.request('endpoint')")).last(4) == [two.endpoint] * 4 }
  end

  test "CURVE, and options of DEALER" do
    keys, other = Array.new(2) { Godwit::Curve.keypair }
    pair = "Godwit::Curve::Keypair.new(secret_key: #{keys.secret_key.inspect})"
    router = back_end(options: "{curve: #{pair}}")
    options = "'#{router.endpoint}', curve: Godwit::Curve.keypair"
    start(GOOD: "#{options}, timeout: 60, server_key: #{keys.public_key.inspect}",
      BAD: "#{options}, timeout: 0.1, server_key: #{other.public_key.inspect}")
    assert_equal "secret", ask("GOOD.request('secret')")
    assert_match(/\AEdge::(Connection|Timeout)Error: /, ask("BAD.request('x')"))
    ["wrong: 1", "timeout: 0", "timeout: '1'", "queue: 0", "queue: 1.5"].each do |wrong|
      assert_match(/\A\w+::(Argument|Option)\w*: |\AArgumentError: /,
        ask("Edge::ZMQ.new('#{router.endpoint}', #{wrong})"), wrong)
    end
  end
end
