# frozen_string_literal: true

# Ruby inside nginx: see docs/edge.md. Its C half is in edge/src.
module Edge
  # What the edge raises. An app that does not rescue it answers with the status of {Failure}.
  class Error < StandardError; end

  # A wait had no answer in time.
  class TimeoutError < Error; end

  # There is no connection to Redis, or no ZeroMQ peer took a request in time.
  class ConnectionError < Error; end

  # Redis has refused a command, or the edge has: the text names it.
  class CommandError < Error; end

  # More requests wait for a peer than `queue:` allows.
  class BusyError < Error; end

  # A wait is impossible where it was called.
  class WaitError < Error; end

  # An app's answer is no answer.
  class ResponseError < Error; end

  # A request's body is no JSON.
  class BadRequest < Error
    # @return [Integer] of the byte at which the parser stopped
    attr_reader :offset

    def initialize(message = nil, offset = 0)
      super(message)
      @offset = offset
    end
  end

  # The client has left: raised by the wait of its request. No StandardError, so that `rescue`
  # without a class does not stop it.
  class Cancelled < Exception # standard:disable Lint/InheritException
  end
end
