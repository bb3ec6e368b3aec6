# frozen_string_literal: true

require "test_helper"
require "timeout"

# REQ#request stays usable whatever ends it, and at whatever moment.
class RequestTest < Godwit::TestCase
  Stop = Class.new(StandardError)

  test "interrupts at any moment leave a REQ usable" do
    rep, req = connected_pair(:REP, :REQ, connect_options: {linger: 0, reconnect_interval: 0.001})
    in_thread { rep.serve { |message| message } }
    random = Random.new(1)
    ended = Hash.new(0)
    400.times do |number|
      thread = in_thread { 50.times { req.request("x", timeout: 5) } }
      spin(random.rand(0.002))
      random.rand(2).zero? ? thread.kill : thread.raise(Stop)
      begin
        thread.join
        ended[:well] += 1
      rescue Stop
        ended[:raised] += 1
      end
      next unless (number % 10).zero?
      assert_equal "still #{number}", req.request("still #{number}", timeout: 10, retries: 1)
      assert_equal 1, req.endpoints.size
    end
    assert_operator ended[:raised], :>, 0
  end

  # Both end at the same moment: the socket is being recreated when the interrupt arrives.
  test "Timeout.timeout of the same length as the request's time-out" do
    rep, req = connected_pair(:REP, :REQ, connect_options: {linger: 0, reconnect_interval: 0.001})
    in_thread { serve_but(rep, "silence") }
    Godwit::TestSupport::Length.of(50, long: 200).times do
      assert_raises(Timeout::Error, Godwit::TimeoutError) do
        Timeout.timeout(0.003) { req.request("silence", timeout: 0.003) }
      end
    end
    assert_equal "speak", req.request("speak", timeout: 10, retries: 3)
  end

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
