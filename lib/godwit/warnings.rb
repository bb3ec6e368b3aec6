# frozen_string_literal: true

module Godwit
  @warn_unsent = @warn_refused = true

  class << self
    # @return [Boolean] whether a process that ends with unsent messages says so on standard error
    attr_reader :warn_unsent

    # Turns the line about unsent messages off or on, for the whole process. Any thread may call it.
    # The FFI backend prints no such line.
    # @param wanted [Boolean] default: true
    # @return [Boolean]
    def warn_unsent=(wanted)
      @warn_unsent = wanted
      native = Backend::IMPLEMENTATION
      native.warn_unsent(wanted) if native.respond_to?(:warn_unsent)
    end

    # Whether a server with `curve:`, `plain_server:` or `auth:` warns of a client that it refuses:
    # once a minute for each client's address, as long as a thread waits for the server's messages.
    # @return [Boolean] default: true; false also silences servers that wait already
    attr_accessor :warn_refused
  end
end
