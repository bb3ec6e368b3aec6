# frozen_string_literal: true

# Tests of json_api.rb, with the Redis of $REDIS_URL:
#
#   edge/exe/godwit-edge test examples/edge/json_api_test.rb
app "./json_api"
redis = Edge::Redis.new

test "the answer has what Redis has" do
  redis["foo"] = "tea"
  answer = Edge.call("GET", "/")
  assert_equal 200, answer.status
  assert_equal "application/json", answer.headers["content-type"]
  assert_equal({"foo" => "tea"}, JSON.parse(answer.body))
end

test "two requests at the same time have the same answer" do
  one, other = Edge.join(-> { Edge.call("GET", "/") }, -> { Edge.call("GET", "/?again") })
  assert_equal one.body, other.body
end
