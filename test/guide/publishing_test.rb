# frozen_string_literal: true

require_relative "guide_case"

# examples/guide/envelopes, last_value_cache and synchronized.
class GuidePublishingTest < GuideCase
  test "envelopes: each subscriber gets its topics whole, and no other" do
    publisher = example("envelopes/publisher", "tcp://127.0.0.1:*", 100, 3)
    endpoint, = endpoints(publisher)
    lagos = example("envelopes/subscriber", endpoint, "lagos.")
    both = example("envelopes/subscriber", endpoint, "lagos-island.", "quito.")

    expected = ->(*cities) do
      100.times.flat_map do |number|
        cities.map { |city| "#{city} #{number}: #{20 + number % 10} degrees" }
      end
    end
    assert_equal expected["lagos."], lines(lagos)
    assert_equal expected["lagos-island.", "quito."], lines(both)
    lines(publisher)
  end

  test "last-value cache: a late subscriber gets the last value" do
    cache = example("last_value_cache/cache", "tcp://127.0.0.1:*", "tcp://127.0.0.1:*")
    front, back = endpoints(cache)
    lines(example("last_value_cache/publisher", front, 100, 3))
    cache.wait_for("topic 99. is value 3")

    assert_equal ["topic 7. value 3"], lines(example("last_value_cache/subscriber", back, 7))
    stays = example("last_value_cache/subscriber", back, 42, 2).wait_for("topic 42. value 3\n")
    assert_equal ["topic 42. value 3"],
      lines(example("last_value_cache/subscriber", back, 42)),
      "somebody else has asked for it before"
    assert_equal ["topic 42. value 3"] * 2, lines(stays)
    stays = example("last_value_cache/subscriber", back, 0, 2).wait_for("topic 0. value 3\n")
    lines(example("last_value_cache/publisher", front, 1, 1))
    assert_equal ["topic 0. value 3", "topic 0. value 1"], lines(stays)
    assert_equal "100 topics", interrupt(cache).last
  end

  test "synchronised publisher: all subscribers get all" do
    publisher = example("synchronized/publisher", "tcp://127.0.0.1:*", 4, 20_000)
    endpoint, = endpoints(publisher)
    subscribers = Array.new(4) { example("synchronized/subscriber", endpoint) }
    subscribers.each do |subscriber|
      assert_equal ["got 20000 messages, none is missing"], lines(subscriber)
    end
    assert_equal "published 20000 messages to 4 subscribers", lines(publisher).last
  end
end
