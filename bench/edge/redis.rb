# frozen_string_literal: true

redis = Edge::Redis.new
lambda do |_env|
  [200, {"content-type" => "application/json"}, [JSON.generate({foo: redis.get("foo")})]]
end
