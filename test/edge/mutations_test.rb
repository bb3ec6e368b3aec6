# frozen_string_literal: true

require "json"
require_relative "support/edge_case"

# Seeded mutations of request bodies and of apps' answers. Each request gets one of the documented
# answers, and the worker survives.
class EdgeMutationsTest < EdgeCase
  COUNT = Godwit::TestSupport::Length.of(500, long: 10_000)
  BODIES = [
    '{"item": "book", "n": 3, "price": 8192.47, "tags": ["a", "\u00e9", null], "x": {"y": true}}',
    '[[1, -2.5e10], {"k": "\ud83d\ude00 \\\\ \" \n"}, "", 0, [[[[]]]]]', '"text"',
    "[" * 99 + "]" * 99
  ].freeze
  PIECES = ["\0", "\xff".b, "\xc3".b, "\"", "\\", "[", "{", ",", ":", "1e999", "-", "9" * 30,
    "\\ud800", "NaN", "null", " ", "\r\n"].freeze

  ECHO = <<~RUBY
    run ->(env) { [200, {}, [JSON.generate(Edge.json(env))]] }
  RUBY

  # The app answers "/?N" with its answer mutated by a Random of seed N.
  ANSWERS = <<~'RUBY'
    class Parts
      def initialize(*parts, &block)
        @parts = parts
        @block = block
      end

      def each(&block)
        @parts.each(&block)
        @block&.call
      end
    end
    class Odd < BasicObject; end
    JUNK = [
      nil, true, 0, -1, 99, 100, 199, 204, 304, 599, 600, 2**40, 1.5, 0.0 / 0, "", "x", "200", :x,
      "a\r\nb: c", "a\0b", "\xff", "é", "x" * 70_000,
      [], {}, [nil], [[]], [["x"], 1], ["a", 2], [:b], {nil => nil},
      {1 => 2}, {"a" => [["b"]]}, {"a b" => "c"}, {"" => ""}, {"a" => "b\n"},
      {"content-length" => "-5"}, {"Content-Length" => 10**18}, {"content-length" => "x"},
      {"content-type" => ["a", "b"]}, {"content-type" => []}, {"Content-Type" => nil},
      {"date" => "x", "Server" => "y", "transfer-encoding" => "chunked"}, {"a" => (1..300).to_a},
      {"content-encoding" => "gzip"}, {"location" => "/x"}, {"x" => "y" * 20_000},
      Object.new, Parts.new("a", "b"), Parts.new("a", nil), Parts.new(1), Parts.new { raise "x" },
      Parts.new("a") { sleep 0 }, Class.new, -> { 1 }, (1..3), Exception.new("x"), Edge, Odd.new
    ]
    run ->(env) {
      random = Random.new(env["QUERY_STRING"].to_i)
      answer = [200, {"content-type" => "text/plain", "x" => "y"}, ["body"]]
      (1 + random.rand(2)).times do
        junk = JUNK[random.rand(JUNK.size)]
        case random.rand(8)
        when 0, 1 then answer[0] = junk
        when 2, 3 then answer[1] = junk
        when 4, 5 then answer[2] = junk
        when 6 then answer[1] = {"a" => junk, junk => "b"} unless Odd === junk
        else
          next answer = junk if random.rand(3) == 0
          answer = answer.first(random.rand(5)) + [junk]
        end
        break unless answer.is_a?(Array)
      end
      answer
    }
  RUBY

  test "mutated bodies are parsed as CRuby parses them, or get 400" do
    server = edge(ECHO, server: "keepalive_requests 100000;")
    worker = server.workers
    random = Random.new(seed = Minitest.seed || 1)
    client = connection
    seen = Hash.new(0)
    COUNT.times do |count|
      body = mutated(BODIES[count % BODIES.size].b, random)
      answer = client.get("/", body: body)
      seen[answer.status] += 1
      assert_includes [200, 400], answer.status, "seed #{seed}, #{count}: #{body.inspect}"
      right =
        if answer.status == 400
          answer.body.match?(/\A\{"error":"bad_request","offset":\d+\}\z/)
        else
          parsed(answer.body) == parsed(body)
        end
      assert right, "seed #{seed}, #{count}: #{body.inspect} became #{answer.body.inspect}"
    end
    assert_equal 2, seen.size, seen.inspect
    assert_equal worker, server.workers
  end

  test "mutated answers of apps get an answer, and the worker lives on" do
    server = edge(ANSWERS,
      server: "keepalive_requests 100000; gzip on; gzip_types *; gzip_min_length 1;")
    worker = server.workers
    first = (Minitest.seed || 1) % 100_000 * 10_000
    client = connection
    seen = Hash.new(0)
    COUNT.times do |count|
      answer = client.get("/?#{first + count}")
      seen[answer.status] += 1
    rescue EdgeConnection::Cut => error
      flunk "mutation #{first + count}: #{error.message}"
    end
    assert_empty seen.keys - [200, 204, 304, 500, 599]
    assert_operator seen[500], :>, COUNT / 50
    assert_operator seen[200], :>, COUNT / 50
    assert_equal worker, server.workers
  end

  private

  def mutated(text, random)
    random.rand(1..3).times do
      at = random.rand(text.bytesize + 1)
      case random.rand(4)
      when 0 then text = text.byteslice(0, at) + text.byteslice(at + 1..).to_s
      when 1 then text = text.dup.insert(at, PIECES.sample(random: random).b)
      when 2 then text.setbyte(at, random.rand(256)) if at < text.bytesize
      else text += text.byteslice(at, random.rand(1..20)).to_s
      end
    end
    text
  end
end
