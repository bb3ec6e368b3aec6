# frozen_string_literal: true

# A gateway in front of Redis and of a ZeroMQ back end (prices.rb):
#
#   ruby -Ilib examples/edge/prices.rb &
#   edge/exe/godwit-edge examples/edge/gateway.rb -p 8080
#   curl localhost:8080/price
#   curl -d '{"item":"tea"}' localhost:8080/order
redis = Edge::Redis.new("redis://127.0.0.1:6379", timeout: 0.5)
prices = Edge::ZMQ.new("tcp://127.0.0.1:5555", timeout: 0.2)
run ->(env) {
  case env["PATH_INFO"]
  when "/price"
    x, price = Edge.join(-> { redis.get("x") }, -> { prices.request("eur") })
    [200, {"content-type" => "application/json"}, [JSON.generate("x" => x, "price" => price)]]
  when "/order" then [200, {}, [redis.call("RPUSH", "orders", Edge.json(env)["item"]).to_s]]
  else [404, {}, []]
  end
}
