# frozen_string_literal: true

module Godwit
  # Checks the descriptor of the option `use_fd`: for a wrong one libzmq would abort the process.
  # @private
  module Descriptor
    module_function

    # @param endpoint [String] to bind
    # @raise [OptionError] unless it is a listening stream socket of the endpoint's family
    def check(number, endpoint)
      require "socket"
      problem = problem(number, endpoint.start_with?("ipc:")) unless endpoint.start_with?("inproc:")
      return unless problem
      raise OptionError.new(
        "bind #{endpoint}: option use_fd takes the descriptor of a stream socket that is bound " \
        "and listens (such as TCPServer#fileno), for tcp:// of TCP, for ipc:// of a UNIX socket: " \
        "#{number} #{problem}", operation: :bind, endpoint: endpoint
      )
    end

    def problem(number, unix)
      type, listens, family = Backend::IMPLEMENTATION.socket_facts(number)
      return "is no open socket" unless type
      return "is no stream socket" unless type == ::Socket::SOCK_STREAM
      return "does not listen" unless listens
      families = unix ? [::Socket::AF_UNIX] : [::Socket::AF_INET, ::Socket::AF_INET6]
      "is of another family" unless families.include?(family)
    end
  end
end
