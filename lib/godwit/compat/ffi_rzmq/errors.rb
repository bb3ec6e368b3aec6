# frozen_string_literal: true

module ZMQ
  # What {Util.error_check} and the constructors raise.
  class ZeroMQError < StandardError
    # @return [String] the call of libzmq's that failed, such as "zmq_bind"
    attr_reader :source
    # @return [Integer] what it gave
    attr_reader :result_code
    # @return [Integer] the errno
    attr_reader :error_code

    # @param source [String]
    # @param result_code [Integer]
    # @param error_code [Integer]
    # @param message [String]
    def initialize(source, result_code, error_code, message)
      @source = source
      @result_code = result_code
      @error_code = error_code
      super("msg [#{message}], error code [#{error_code}], rc [#{result_code}]")
    end
  end

  # This libzmq, or this door, cannot do it.
  class NotSupportedError < ZeroMQError; end

  # Of a context, or of making a socket in one.
  class ContextError < ZeroMQError
    # @return [Boolean]
    def einval? = error_code == EINVAL

    # @return [Boolean]
    def eterm? = error_code == ETERM
  end

  # Of a {Message}.
  class MessageError < ZeroMQError
    # @return [Boolean]
    def enomem? = error_code == ENOMEM
  end
end
