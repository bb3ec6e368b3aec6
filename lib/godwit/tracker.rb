# frozen_string_literal: true

module Godwit
  # Tells when libzmq no longer needs the Strings of one send: `tracker = socket.send(data, track:
  # true)`. It says nothing of the peer. What was copied is done at once.
  #
  # **Threads and fibers**: any number may ask and wait; a wait ends on `Thread#kill`, `Timeout` and
  # signals. It can be shared between Ractors when frozen. In a forked child, to which libzmq's
  # threads do not come along, what was pending stays so.
  class Tracker
    # @private
    def initialize
      _open
    end

    # @return [Boolean] whether libzmq is done
    def done? = _done?

    # Waits until libzmq is done.
    # @param timeout [Integer, Float, nil] seconds; nil: for ever
    # @return [Boolean] false when time is up
    def wait(timeout = nil)
      _wait(Timeout.milliseconds(timeout))
    end

    # @return [String]
    def inspect
      "#<#{self.class} #{done? ? "done" : "pending"}>"
    rescue StateError
      "#<#{self.class} of no send>"
    end

    # @private
    # The send has succeeded: from now on the tracker answers for it.
    # @return [self]
    def sent = _sent

    # dup and clone make no sense.
    # @private
    def initialize_copy(_original)
      raise Errors.build(
        UnsupportedError, :dup, nil,
        "a tracker cannot be copied: share this one, any thread may use it"
      )
    end
  end
end
