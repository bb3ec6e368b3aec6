# frozen_string_literal: true

require "test_helper"

# A poller that another thread closes while a call on it has begun: it takes out all, and who finds
# nothing then is told why.
class FFIPollerCloseTest < Godwit::TestCase
  CALLS = {
    wait: ->(poller, _) { poller.wait }, remove: ->(poller, io) { poller.remove(io) },
    modify: ->(poller, io) { poller.modify(io, :readable) },
    events: ->(poller, io) { poller.events(io) },
    registered?: ->(poller, io) { poller.registered?(io) }
  }.freeze

  CALLS.each do |name, call|
    test "#{name} on a poller that is closed just then raises ClosedError" do
      io, = pipe
      poller = open_poller(io)
      looked = 0
      poller.define_singleton_method(:handle!) do
        # The other thread's, right after the look whether it is open.
        super().tap { close if (looked += 1) == 1 }
      end
      assert_raises(Godwit::ClosedError) { call.call(poller, io) }
    end
  end

  # What JRuby's select says of an IO that another thread closes just then, between two looks at it.
  test "an IO whose descriptor is closed during a wait is told of as one that is closed" do
    io, = pipe
    quiet, = pipe
    twin = IO.for_fd(io.fileno, autoclose: false)
    poller = open_poller(twin)
    twin.define_singleton_method(:fileno) do
      io.close unless io.closed?
      quiet.fileno
    end
    assert_match(
      /was closed while it was registered/,
      assert_raises(Godwit::ClosedError) { poller.wait(5) }.message
    )
  end
end
