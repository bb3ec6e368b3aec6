# frozen_string_literal: true

require "test_helper"

# Another thread closes a poller while a call on it has begun. That empties the poller, and the call
# raises ClosedError.
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
        # The other thread closes right after the check that it is open.
        super().tap { close if (looked += 1) == 1 }
      end
      assert_raises(Godwit::ClosedError) { call.call(poller, io) }
    end
  end

  # On JRuby another thread may close the IO between two looks at it.
  test "an IO whose descriptor is closed during a wait raises ClosedError" do
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
