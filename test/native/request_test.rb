# frozen_string_literal: true

require "test_helper"

# REQ#request stays usable whatever ends it, and at whatever moment.
class RequestTest < Godwit::TestCase
  Stop = Class.new(StandardError)

  # Every line of Ruby in it is a moment at which it may be interrupted.
  test "an interrupt at each line of request" do
    rep, req = connected_pair(:REP, :REQ, connect_options: {linger: 0, reconnect_interval: 0.001})
    in_thread { serve_but(rep, "silence") }
    %w[silence speak].each do |message|
      moment = 0
      loop do
        moment += 1
        break unless interrupted_at(moment, req, message)
        assert_equal "again",
          req.request("again", timeout: 10, retries: 2),
          "after an interrupt at line #{moment} of a request of #{message}"
        assert_equal [rep.last_endpoint], req.endpoints
      end
      assert_operator moment, :>, 5
    end
  end

  private

  def serve_but(rep, silence)
    rep.serve { |message| (message == silence) ? spin(0.02) && "" : message }
  end

  def spin(seconds)
    limit = monotonic + seconds
    Thread.pass while monotonic < limit
    true
  end

  # @return [Boolean] whether there was such a moment
  def interrupted_at(moment, req, message)
    count = 0
    go = Queue.new
    thread = in_thread do
      go.pop
      req.request(message, timeout: 0.005)
    rescue Godwit::TimeoutError, Stop
      nil
    end
    until_waiting(go)
    hit = false
    trace = TracePoint.new(:line) do |event|
      next unless Thread.current.equal?(thread) && event.path.include?("/lib/godwit/") && !hit
      hit = (count += 1) == moment
      thread.raise(Stop) if hit # taken here, or where it is allowed
    end
    trace.enable(target_thread: thread) { go.push(nil) && thread.join }
    hit
  end
end
