# frozen_string_literal: true

module Godwit
  class Beacon
    # How a beacon's methods ask its thread.

    private

    def forked? = @thread.forked?

    # Of this process, open or closed.
    def own(operation = nil)
      raise Errors.build(ForkedError, operation, place) if forked?
      @thread
    end

    # Of this process, and open.
    def beacon_thread(operation)
      raise closed(operation) if own(operation).closed?
      @thread
    end

    def take(operation, timeout)
      wait(operation, timeout) { |beacon_thread, seconds| beacon_thread.take(seconds) }
    end

    def wait(operation, timeout)
      milliseconds = Timeout.milliseconds(timeout)
      value = yield beacon_thread(operation), ((milliseconds == -1) ? nil : milliseconds / 1000.0)
      raise closed(operation) if value.nil? && @thread.closed?
      value
    end

    def take_or_end
      take(:each, nil)
    rescue ClosedError
      nil
    end

    def closed(operation) = Errors.build(ClosedError, operation, place, "Beacon.new makes another")

    def late(operation, detail) = Errors.build(TimeoutError, operation, place, detail)

    def place
      "udp://#{@thread.interface.name}:#{@thread.port}"
    end
  end
end
