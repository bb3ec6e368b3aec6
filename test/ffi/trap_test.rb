# frozen_string_literal: true

require "test_helper"

# What a trap handler raises (Ctrl-C's Interrupt too) no Thread.handle_interrupt puts off, so over
# FFI it may come wherever CRuby looks for signals in the library's own Ruby code: where a method or
# a block returns. Here it comes at each of these points of a call in turn; each time the sockets go
# on and all is closed.
class FFITrapTest < Godwit::TestCase
  class Trapped < StandardError; end

  BACKEND = File.expand_path("../../lib/godwit/backend/ffi", __dir__)
  MOST = 1000 # points of one call

  CALLS = {
    "recv" => -> { @push.send("x").then { @pull.recv } },
    "recv that times out" => -> { @pull.recv(timeout: 0.001, exception: false) },
    "recv_frame and recv_many" => -> do
      @push.send("x").then { @pull.recv_frame } &&
        @pull.recv_many(2, timeout: 0.001, exception: false)
    end,
    "send of a Frame" => -> { @push.send(frame("x")) },
    "send of several parts" => -> do
      @push.send(["part 1 of 3", frame("part 2 of 3"), frame("part 3 of 3")])
    end,
    "a request in vain" => -> do
      Godwit::REQ
        .new(context: @mine)
        .connect(@endpoint)
        .then { |req| timed_out { req.request("x", timeout: 0.001) } }
    end,
    "a REQ's send" => -> do
      Godwit::REQ.new(context: @mine).connect(@endpoint).send(["part 1 of 2", "part 2 of 2"])
    end,
    "a poller" => -> { @poller.register(@pull) && @poller.wait(0.001) || @poller.remove(@pull) },
    "a poller's close" => -> { @poller.register(@pull) && @poller.close },
    "a new socket" => -> { Godwit::DEALER.new(context: @mine).bind("inproc://another").close },
    "a monitor" => -> do
      @pull.monitor.tap { |monitor| monitor.recv(timeout: 0.001, exception: false) }.close
    end,
    "close" => -> { @pull.close },
    "a context's close" => -> { @mine.close }
  }.freeze

  # Runs the call until the given point.
  # @return [String, nil] where that is; nil: the call has no such point
  def trapped(point, &call)
    seen = 0
    at = nil
    trace = TracePoint.new(:return, :b_return) do |event|
      next unless event.path.start_with?(BACKEND) && (seen += 1) == point
      at = "#{File.basename(event.path)}:#{event.lineno}, #{event.event} of #{event.method_id}"
      raise Trapped
    end
    GC.disable # of what a finalizer raises Ruby only warns
    trace.enable(target_thread: Thread.current, &call)
    nil
  rescue Trapped
    at
  ensure
    GC.enable
  end

  def timed_out
    yield
  rescue Godwit::TimeoutError
    nil
  end

  def frame(text) = Godwit::Frame.new(text).tap { |frame| @frames << frame }

  def handle_of(object) = object.instance_variable_get(:@handle)

  def assert_free(*objects)
    objects.each do |object|
      handle = handle_of(object)
      refute handle.instance_variable_get(:@lock).mutex.owned?, "the lock of #{object.class}"
      assert_empty handle.instance_variable_get(:@queue) unless object.is_a?(Godwit::Context)
    end
    @frames.each do |frame|
      refute Godwit::Frame.handle_of(frame).lock.mutex.owned?, "the lock of a frame"
      assert frame.gone? || frame.size > 0, "a frame that was sent is not gone"
    end
  end

  # All that was sent came whole, and what is sent now comes.
  def assert_going_on
    return if @pull.closed?
    unless @poller.closed?
      @poller.remove(@pull) if @poller.registered?(@pull)
      @poller.register(@pull)
    end
    @push.send("last")
    whole = [
      ["x"], ["part 1 of 3", "part 2 of 3", "part 3 of 3"], ["", "part 1 of 2", "part 2 of 2"],
      ["", "x"], ["last"]
    ]
    messages = []
    messages << Array(@pull.recv(timeout: 5)) until messages.last == ["last"]
    assert_empty messages - whole
    return if @poller.closed?
    @push.send("one more")
    assert_equal [@pull], @poller.wait(5).map(&:object)
    assert @poller.remove(@pull)
  end

  def assert_ends
    [@pull, @push, @poller].each(&:close)
    @mine.close
    terminator = handle_of(@mine).instance_variable_get(:@terminator)
    assert terminator.join(5), "libzmq's context ends"
  end

  # The first message ends the counting of peers; from then on a socket goes the fast path.
  CALLS.to_a.product(["at first", "after a message"]).each do |(name, call), time|
    test "what a trap handler raises, wherever that is, leaves no lock taken, nobody in a line, " \
      "no message torn and nothing open: #{name}, #{time}" do
      not_on :jruby, "its trap handlers run in a thread of their own"
      point = 0
      loop do
        @mine = Godwit::Context.new.tap { |context| context.linger = 0 }
        @endpoint = endpoint_for(:inproc)
        @pull = Godwit::PULL.new(context: @mine).bind(@endpoint)
        @push = Godwit::PUSH.new(context: @mine).connect(@endpoint)
        @poller = Godwit::Poller.new
        @frames = []
        assert_equal "first", @push.send("first").then { @pull.recv } if time == "after a message"
        at = trapped(point += 1) { instance_exec(&call) }
        assert_free @pull, @push, @poller, @mine
        assert_going_on
        assert_ends
        break unless at
      rescue Minitest::Assertion, Godwit::Error => error
        flunk "#{at}: #{error.message}"
      end
      assert_operator point, :>, 3
      assert_operator point, :<, MOST
    end
  end
end
