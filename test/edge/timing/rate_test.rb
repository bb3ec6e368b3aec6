# frozen_string_literal: true

require "edge/support/edge_case"

# Requests that hang do not slow down requests that get their answers at once.
class EdgeRateTest < EdgeCase
  APP = <<~RUBY
    run ->(env) do
      sleep 60 if env["PATH_INFO"] == "/hang"
      [200, {"content-type" => "text/plain"}, ["hello"]]
    end
  RUBY
  ROUNDS = 5

  # @return [Float] answered requests a second
  def rate(server)
    said, status = Open3.capture2e(EdgePrograms.env(EdgePrograms.wrk), EdgePrograms.wrk,
      "--threads", "1", "--connections", "10", "--duration", "1", server.url("/hello"))
    assert status.success?, said
    said[%r{^Requests/sec:\s+([\d.]+)}, 1].to_f
  end

  test "hello keeps three quarters of its rate beside 100 requests that hang" do
    server = edge(APP, conf: "godwit_timeout 120s;")
    ratios = Array.new(ROUNDS) do
      alone = rate(server)
      hanging = Array.new(100) { connection("/hang") }
      beside = rate(server)
      hanging.each(&:close)
      beside / alone
    end
    assert_operator ratios.sort[ROUNDS / 2], :>=, 0.75
  end
end
