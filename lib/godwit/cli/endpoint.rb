# frozen_string_literal: true

require_relative "../endpoint"

module Godwit
  module CLI
    # Endpoints as users type them in a shell.
    module Endpoint
      module_function

      # An empty host becomes 127.0.0.1, for bind and for connect, so that nothing listens to the
      # network by default (`tcp://*:5555` does). The rest stays: libzmq and {Godwit::Socket} check
      # it.
      #
      # @param text [String] such as "tcp://:5555"
      # @return [String] such as "tcp://127.0.0.1:5555"
      # @raise [UsageError] when it has no transport
      def expand(text)
        transport, found, address = text.partition("://")
        unless found && transport.match?(/\A[a-z][a-z0-9+]*\z/) && !address.empty?
          raise UsageError, "#{text.inspect} is no endpoint: type tcp://HOST:PORT, tcp://:PORT, " \
            "ipc://PATH or inproc://NAME"
        end
        Godwit::Endpoint.with_host(text)
      end
    end
  end
end
