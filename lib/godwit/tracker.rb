# frozen_string_literal: true

module Godwit
  # Tells when libzmq no longer needs the Strings of one send: `tracker = socket.send(data, track:
  # true)`. A Tracker says nothing about the peer. libzmq does not need a String that was copied.
  #
  # **Threads and fibers**: any number may wait; a wait ends on `Thread#kill`, `Timeout` and
  # signals. Ractors can share a frozen tracker. In a forked child a pending tracker stays pending.
  class Tracker
    # @private
    def initialize = _open
    # @return [Boolean] whether libzmq no longer needs the Strings
    def done? = _done?
    # Waits until libzmq no longer needs the Strings.
    # @param timeout [Integer, Float, nil] seconds; nil: for ever
    # @return [Boolean] false when time is up
    def wait(timeout = nil) = _wait(Timeout.milliseconds(timeout))

    # @return [String]
    def inspect
      "#<#{self.class} #{done? ? "done" : "pending"}>"
    rescue StateError
      "#<#{self.class} of no send>"
    end

    # @private
    # Tells the tracker that the send has succeeded.
    def sent = _sent

    # @private
    def initialize_copy(_original)
      raise Errors.no_copy("tracker", "share this one, any thread may use it")
    end
  end
end
