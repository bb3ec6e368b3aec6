# frozen_string_literal: true

require "json"
require_relative "support/edge_case"

# Seeded mutations of request bodies: each request gets a documented answer, and the worker
# survives.
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
