# frozen_string_literal: true

module ZMQ
  # Raised by {Util.error_check} and by constructors.
  class ZeroMQError < StandardError
    # @return [String] the function of libzmq that failed, such as "zmq_bind"
    attr_reader :source
    # @return [Integer] what the function returned
    attr_reader :result_code
    # @return [Integer] the errno
    attr_reader :error_code

    def initialize(source, result_code, error_code, message)
      @source = source
      @result_code = result_code
      @error_code = error_code
      super("msg [#{message}], error code [#{error_code}], rc [#{result_code}]")
    end
  end

  # This libzmq, or Godwit's layer, lacks the function.
  class NotSupportedError < ZeroMQError; end

  # A context failed, or a socket could not be made in one.
  class ContextError < ZeroMQError
    def einval? = error_code == EINVAL
    def eterm? = error_code == ETERM
  end

  # A {Message} failed.
  class MessageError < ZeroMQError
    def enomem? = error_code == ENOMEM
  end
end
