# frozen_string_literal: true

require "test_helper"
require "support/interrupts"

# REQ#request leaves the socket usable, whatever ends the call at any moment.
class NativeRequestTest < Godwit::TestCase
  include Godwit::TestSupport::Interrupts

  # An interrupt may come at each Ruby line of the method.
  test "an interrupt at each line of request" do
    rep, req = connected_pair(:REP, :REQ, connect_options: {linger: 0, reconnect_interval: 0.001})
    in_thread { rep.serve { |message| (message == "silence") ? spin(0.02) && "" : message } }
    %w[silence speak].each do |message|
      at_each_line(%r{/lib/godwit/}, least: 5) do |interrupted|
        again = interrupted.call { req.request(message, timeout: 0.005, exception: false) }
        assert_equal "again", req.request("again", timeout: 10, retries: 2),
          "after an interrupt of a request of #{message}"
        assert_equal [rep.last_endpoint], req.endpoints
        again
      end
    end
  end

  private

  def spin(seconds)
    limit = monotonic + seconds
    Thread.pass while monotonic < limit
    true
  end
end
