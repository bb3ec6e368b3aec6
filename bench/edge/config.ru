# frozen_string_literal: true

require "json"
require "redis_client"
require "sinatra/base"

# With $REDIS_URL.
class JsonApi < Sinatra::Base
  set :environment, :production
  set :storage, RedisClient.config(url: ENV.fetch("REDIS_URL")).new_pool(size: 5)

  get "/" do
    content_type :json
    JSON.generate({foo: settings.storage.call("GET", "foo")})
  end
end

run JsonApi
