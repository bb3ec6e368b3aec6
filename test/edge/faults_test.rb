# frozen_string_literal: true

require_relative "support/edge_case"

# Redis and the ZeroMQ back end fail under load. Each request has a number, which its answer must
# have too.
class EdgeFaultsTest < EdgeCase
  CONNECTIONS = 20
  BURST = 10_000
  # Holds its requests until "release" comes. It prints nothing more, since nothing reads its pipe.
  HOLDS = <<~RUBY
    socket = Godwit::ROUTER.new(recv_hwm: 0, send_hwm: 0).bind(ENDPOINT)
    held = []
    puts "ready"
    loop do
      held << socket.recv
      held.shift(held.size).each { |message| socket.send(message) } if held.last.last == "release"
    end
  RUBY

  APP = <<~RUBY
    REDIS = Edge::Redis.new(timeout: 0.2)
    PEER = Edge::ZMQ.new(BACK_END, timeout: 0.2)
    KINDS = {
      "/redis" => ->(number) { REDIS.call("ECHO", number) },
      "/zmq" => ->(number) { PEER.request(number) },
      "/both" => ->(number) {
        both = Edge.join(-> { REDIS.call("ECHO", number) }, -> { PEER.request(number) })
        (both[0] == both[1]) ? both[0] : both.inspect
      },
    }
    run ->(env) { [200, {}, [KINDS[env["PATH_INFO"]].call(env["QUERY_STRING"])]] }
  RUBY

  BURST_APP = <<~RUBY
    PEER = Edge::ZMQ.new(BACK_END, timeout: 60, queue: 20_000)
    run ->(env) {
      texts = (0...env["QUERY_STRING"].to_i).map(&:to_s) << "release"
      answers = Edge.join(*texts.map { |text| -> { PEER.request(text) } })
      [200, {}, [(answers == texts) ? "as asked" : answers.inspect]]
    }
  RUBY

  test "no answer belongs to another request while Redis and the back end fail in turns" do
    store = redis
    back = back_end
    server = edge("BACK_END = #{back.endpoint.inspect}\n#{APP}", env: {"REDIS_URL" => store.url},
      server: "keepalive_requests 10000000;")
    load_with(server) do
      rounds = Godwit::TestSupport::Length.of(1, long: 10)
      rounds.times do
        {store => "/redis", back => "/zmq"}.each do |peer, path|
          fail_and_return(path, -> { peer.kill }, -> { peer.start })
          fail_and_return(path, -> { peer.freeze_process }, -> { peer.thaw_process })
        end
      end
      [store, back].each(&:kill)
      passes { @seen["/redis"] != 200 && @seen["/zmq"] != 200 }
      [store, back].each(&:start)
      start = monotonic
      passes { %w[/redis /zmq /both].all? { |path| @seen[path] == 200 } }
      assert_operator monotonic - start, :<=, 3
    end
    assert_empty @wrong
    assert_operator @total, :>, 300
  end

  test "a back end answers 10,000 requests in one burst" do
    back = back_end(HOLDS)
    server = edge("BACK_END = #{back.endpoint.inspect}\n#{BURST_APP}",
      server: "godwit_timeout 60s;")
    assert_equal "as asked", server.get("/?#{BURST}").body
  end

  private

  # Runs the block beside {CONNECTIONS} clients.
  def load_with(server)
    @wrong = Thread::Queue.new
    @seen = Hash.new { |hash, path| hash[path] = 0 } # the last status
    @total = 0
    @ends = false
    threads = Array.new(CONNECTIONS) { |index| in_thread { client(server, index) } }
    yield
  ensure
    @ends = true
    threads&.each { |thread| ended(thread) }
    @wrong = Array.new(@wrong.size) { @wrong.pop }
  end

  def client(server, index)
    one = connection
    (0..).each do |count|
      break if @ends
      path = %w[/redis /zmq /both][(index + count) % 3]
      number = "#{index}.#{count}"
      answer = one.get("#{path}?#{number}")
      right = [502, 503, 504].include?(answer.status) || answer.to_a == [200, number]
      @wrong << [number, answer] unless right
      @seen[path] = answer.status
      @total += 1
    end
  end

  def fail_and_return(path, failure, back)
    failure.call
    passes { @seen[path] != 200 && @seen["/both"] != 200 }
    back.call
    passes { @seen[path] == 200 && @seen["/both"] == 200 }
  end

  def passes(&block) = eventually { !@wrong.empty? || block.call }
end
