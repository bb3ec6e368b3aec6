# frozen_string_literal: true

require_relative "support/edge_case"
require_relative "support/stream_client"

# Edge::Feed: one SUB of the worker for any number of streams.
class EdgeFeedTest < EdgeCase
  deadline 600

  APP = <<~'RUBY'
    ALL = Edge::Feed.new(ENDPOINT)
    SOME = Edge::Feed.new(ENDPOINT, subscribe: ["a", "b"], queue: 20)
    SAID = Hash.new(0)
    WRONG = [{queue: 1}, {queue: 2.5}, {wrong: 1}].map { |options|
      begin
        Edge::Feed.new(ENDPOINT, **options)
      rescue StandardError => error
        error.class.to_s
      end
    }
    def show(message) = message.is_a?(Array) ? message.join("|") : message
    run ->(env) {
      case env["PATH_INFO"]
      when "/said" then next [200, {}, [JSON.generate(SAID)]]
      when "/wrong" then next [200, {}, [WRONG.inspect]]
      when "/block"
        ALL.each
      when "/below"
        begin
          Class.new { SOME.each { nil } }
        rescue Edge::WaitError => error
          next [200, {}, [error.class.to_s]]
        end
      when "/first" # in a request without a stream
        SAID["first"] += 1
        next [200, {}, [SOME.each { |message| break show(message) }]]
      end
      Edge.stream("text/event-stream") { |out|
        begin
          case env["PATH_INFO"]
          when "/all" then ALL.each { |message| out.event(show(message)) }
          when "/late"
            ALL.each do |message|
              SAID["late"] += 1
              sleep if SAID["late"] == 1
            end
          when "/two"
            Edge.join(-> { ALL.each { |message| out.event("all " + show(message)) } },
              -> { SOME.each { |message| out.event("some " + show(message)) } })
          end
        rescue Exception => error
          SAID[error.class.to_s] += 1
          raise error
        ensure
          SAID["ensure"] += 1
        end
      }
    }
  RUBY

  def setup
    super
    @pub = open_socket(:PUB, send_hwm: 0)
    @endpoint = "tcp://127.0.0.1:#{@pub.bind("tcp://127.0.0.1:*").port}"
    @clients = []
  end

  def teardown
    @clients&.each(&:close)
    super
  end

  test "100 streams of one Feed get each message in its order" do
    start
    streams = Array.new(100) { client("/all") }
    streams.each(&:head)
    two = client("/two").tap(&:head)
    @pub.send(["a", "frames"])
    (1..999).each { |number| @pub << number.to_s }
    expected = ["a|frames", *(1..999).map(&:to_s)].map { |text| "data: #{text}\n\n" }.join
    streams.each { |one| assert_equal expected, ended(in_thread { one.read(expected.bytesize) }) }
    @pub << "b"
    both = ended(in_thread { two.read(expected.bytesize + 4 * 1000 + 80) })
    p both.size
  end

  private

  def start(**options)
    @server = edge("ENDPOINT = #{@endpoint.inspect}\n#{APP}", **options)
    @pub.wait_connected(2)
  end

  def client(path, **options)
    StreamClient.new(options.delete(:port) || @server.port, path, **options).tap { |one| @clients << one }
  end

  def said = JSON.parse(@server.get("/said").body)
end
