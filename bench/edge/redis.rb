# frozen_string_literal: true

redis = Edge::Redis.new
->(_env) { [200, {"content-type" => "application/json"}, [JSON.generate({foo: redis.get("foo")})]] }
