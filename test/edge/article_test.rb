# frozen_string_literal: true

require_relative "support/edge_case"

# The application of the article of 2015 runs as it was printed.
class EdgeArticleTest < EdgeCase
  ARTICLE = File.read(File.expand_path("../../examples/edge/json_api.rb", __dir__))

  test "the article's file answers with data from Redis" do
    store = redis
    server = edge({"/json_api/" => ARTICLE}, env: {"REDIS_URL" => store.url})
    answer = nil
    # Redis may take longer than the time-out, since the machine is busy: the file runs again.
    eventually { (answer = server.get("/json_api/")).code == "200" }
    assert_equal ["200", "application/json", %({"foo":"bar"})],
      [answer.code, answer["content-type"], answer.body]
    assert_equal "bar", store.call("GET", "foo")
  end
end
