# frozen_string_literal: true

require_relative "support/edge_case"

# Edge::Feed: one SUB socket of a worker receives the messages for all streams of the worker.
class EdgeFeedTest < EdgeCase
  deadline 600

  TEXT = 8 * 1024 # bytes of each message of the test with a stopped reader

  APP = <<~RUBY
    ALL = Edge::Feed.new(ENDPOINT)
    SOME = Edge::Feed.new(ENDPOINT, subscribe: ["a", "b"], queue: 20)
    #{NOTED}
    def refused
      yield
    rescue StandardError => error
      error.class.to_s
    end
    WRONG = [{queue: 1}, {queue: 2.5}, {wrong: 1}].map { |options|
      refused { Edge::Feed.new(ENDPOINT, **options) }
    }
    run ->(env) {
      case path = env["PATH_INFO"]
      when "/said" then next [200, {}, [JSON.generate(SAID)]]
      when "/wrong"
        next [200, {}, [JSON.generate([*WRONG, refused { ALL.each }])]]
      when "/first" # a request without a stream
        SAID[path] += 1
        next [200, {}, SOME.each { |message| break [*message] unless message == "a" }]
      end
      Edge.stream("text/event-stream") { |out|
        noted(path) do
          case path
          when "/all" then ALL.each { |message| out.event([*message].join("|")) }
          when "/slow" then SOME.each { sleep } # the app reads one message, and no more
          when "/two"
            Edge.join(-> { ALL.each { |message| out.event("all") } },
              -> { SOME.each { |message| out.event("some") } })
          end
        end
      }
    }
  RUBY

  def setup
    super
    @pub = open_socket(:PUB, send_hwm: 0, linger: 0)
    @endpoint = "tcp://127.0.0.1:#{@pub.bind("tcp://127.0.0.1:*").port}"
  end

  test "100 streams of one Feed get each message in its order; requests and joins read, too" do
    start
    streams = Array.new(100) { connection("/all").tap(&:head) }
    two = connection("/two").tap(&:head)
    first = in_thread { @server.get("/first").body }
    eventually { said.values_at("/all", "/two", "/first") == [100, 1, 1] }
    @pub.send(["a", "frames"])
    (1..998).each { |number| @pub << number.to_s }
    @pub << "b"
    texts = ["a|frames", *(1..998).map(&:to_s), "b"].map { |text| "data: #{text}\n\n" }.join
    streams.each { |one| assert_equal texts, ended(in_thread { one.read(texts.bytesize) }) }
    size = 1_000 * "data: all\n\n".bytesize + 2 * "data: some\n\n".bytesize
    both = ended(in_thread { two.read(size) }).split("\n\n").tally
    assert_equal({"data: all" => 1_000, "data: some" => 2}, both)
    assert_equal "aframes", ended(first)
    assert_equal %w[ArgumentError ArgumentError Godwit::OptionError ArgumentError],
      JSON.parse(@server.get("/wrong").body)
    [*streams, two].each(&:close)
    eventually { said["ensure"] == 101 }
    assert_equal 101, said["Edge::Cancelled"]
    refute_match(/\[error\]/, @server.log)
  end

  test "a reader that is 1,000 messages behind is dropped, and others lose nothing" do
    start(listen: "sndbuf=128k")
    stopped = Array.new(2) { connection("/all").tap(&:head) }
    good = connection("/all").tap(&:head)
    eventually { said["/all"] == 3 }
    got = 0
    until said["Edge::BusyError"] == 2
      assert_operator got, :<, 3_000
      100.times { |number| @pub << (got + number).to_s.rjust(TEXT) }
      texts = (got...(got + 100)).map { |number| "data: #{number.to_s.rjust(TEXT)}\n\n" }.join
      assert_equal texts, ended(in_thread { good.read(texts.bytesize) })
      got += 100
    end
    assert_operator got, :>, 1_000
    lines = @server.log.lines.grep(/\[error\]/)
    text = "Edge::BusyError: a reader of #{@endpoint} is 1000 messages behind and is dropped"
    counts = lines.map { |line| line[/#{text}, (\d) so far \(#{@server.path}/, 1] }
    assert_equal %w[1 2], counts.sort # the log may have the two dropped streams in either order
    stopped.each do |one|
      assert_raises(EdgeConnection::Cut) { ended(in_thread { one.rest }) }
    end

    slow = connection("/slow").tap(&:head) # dropped while its app waits for another event
    eventually { said["/slow"] == 1 }
    25.times { @pub << "a" }
    first = in_thread { @server.get("/first").body }
    eventually { said["/first"] == 1 }
    @pub << "b"
    assert_equal "b", ended(first)
    slow.close
    eventually { said["Edge::Cancelled"] == 1 }

    done = false
    flood = in_thread { (@pub << "x" and Thread.pass) until done }
    20.times { assert_equal "200", @server.get("/said").code }
    done = true
    ended(flood)
  end

  private

  def start(**options)
    edge("ENDPOINT = #{@endpoint.inspect}\n#{APP}", **options)
    @pub.wait_connected(count: 2)
  end
end
