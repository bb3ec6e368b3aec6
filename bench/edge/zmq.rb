# frozen_string_literal: true

back = Edge::ZMQ.new("tcp://127.0.0.1:5555") # the benchmark puts the back end's endpoint here
lambda do |_env|
  [200, {"content-type" => "application/json"}, [JSON.generate({foo: back.request("foo")})]]
end
