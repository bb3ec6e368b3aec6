# frozen_string_literal: true

require_relative "support/edge_case"

# Redis and the ZeroMQ back end fail under load. Each request has a number, and its answer must
# have the same number.
class EdgeFaultsTest < EdgeCase
  CONNECTIONS = 20
  APP = <<~RUBY
    REDIS = Edge::Redis.new(timeout: 0.2)
    PEER = Edge::ZMQ.new("%s", timeout: 0.2)
  RUBY
  KINDS = {
    redis: "REDIS.call('ECHO', '%s')", zmq: "PEER.request('%s')",
    both: "Edge.join(-> { REDIS.call('ECHO', '%1$s') }, -> { PEER.request('%1$s') }).uniq.join(' ')"
  }.freeze

  test "no answer belongs to another request while Redis and the back end fail in turns" do
    store = redis
    back = back_end
    evaluate(format(APP, back.endpoint), env: {"REDIS_URL" => store.url},
      server: "keepalive_requests 10000000;")
    under_load do
      rounds = Godwit::TestSupport::Length.of(1, long: 10)
      rounds.times do
        {store => :redis, back => :zmq}.each do |peer, kind|
          fail_and_return(kind, -> { peer.kill }, -> { peer.start })
          fail_and_return(kind, -> { peer.freeze_process }, -> { peer.thaw_process })
        end
      end
      [store, back].each(&:kill)
      passes { !@answered[:redis] && !@answered[:zmq] }
      [store, back].each(&:start)
      start = monotonic
      passes { KINDS.keys.all? { |kind| @answered[kind] } }
      assert_operator monotonic - start, :<=, 3
    end
    assert_empty @wrong
    assert_operator @total, :>, 300
  end

  test "a back end answers 10,000 requests in one burst" do
    evaluate(<<~RUBY, server: "godwit_timeout 60s;")
      # The back end takes all that libzmq has between a send and the receive behind it.
      module Late
        TURNS = Array.new(20, true)

        def _try_recv
          now = Time.now.to_f
          nil while TURNS.any? && Time.now.to_f - now < 0.05
          TURNS.pop
          super
        end
      end
      Godwit::DEALER.prepend(Late)
      PEER = Edge::ZMQ.new('#{back_end.endpoint}', timeout: 60, queue: 20_000)
    RUBY
    assert_equal true, ask(<<~RUBY)
      texts = Array.new(10_000) { |i| "hold\#{i}" } << "release"
      Edge.join(*texts.map { |text| -> { PEER.request(text) } }) == texts
    RUBY
  end

  private

  # Runs the block while {CONNECTIONS} clients send requests.
  def under_load
    @wrong = Thread::Queue.new
    @answered = {} # kind of request => whether the last request of this kind was answered
    @total = 0
    @ends = false
    threads = Array.new(CONNECTIONS) { |index| in_thread { client(index) } }
    yield
  ensure
    @ends = true
    threads&.each { |thread| ended(thread) }
    @wrong = Array.new(@wrong.size) { @wrong.pop }
  end

  def client(index)
    one = connection
    (0..).each do |count|
      break if @ends
      kind = KINDS.keys[(index + count) % 3]
      number = "#{index}.#{count}"
      value = JSON.parse(one.get("/", body: format(KINDS[kind], number)).body)
      failed = value.to_s.match?(/\AEdge::(Connection|Busy|Timeout)Error: /)
      @wrong << [number, value] unless failed || value == number
      @answered[kind] = !failed
      @total += 1
    end
  end

  def fail_and_return(kind, failure, back)
    failure.call
    passes { !@answered[kind] && !@answered[:both] }
    back.call
    passes { @answered[kind] && @answered[:both] }
  end

  def passes(&block) = eventually { !@wrong.empty? || block.call }
end
