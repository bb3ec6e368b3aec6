# frozen_string_literal: true

module ZMQ
  # Raised by {Util.error_check} and by constructors.
  class ZeroMQError < StandardError
    # @return [String] the function of libzmq that failed, such as "zmq_bind"
    attr_reader :source
    attr_reader :result_code, :error_code

    def initialize(source, result_code, error_code, message)
      @source = source
      @result_code = result_code
      @error_code = error_code
      super("msg [#{message}], error code [#{error_code}], rc [#{result_code}]")
    end
  end

  # Raised for a function that this libzmq, or Godwit's layer, does not have.
  class NotSupportedError < ZeroMQError; end

  # Raised when a context fails, or cannot make a socket.
  class ContextError < ZeroMQError
    def einval? = error_code == EINVAL
    def eterm? = error_code == ETERM
  end

  # Raised when a {Message} fails.
  class MessageError < ZeroMQError
    def enomem? = error_code == ENOMEM
  end

  # Return codes and errnos.
  class Util
    class << self
      def resultcode_ok?(code) = code >= 0
      # @return [Integer] errno of this thread's last failure; 0 before the first failure
      def errno = Failures.last
      def error_string = Failures.words(errno)

      # @param source [String] the function of libzmq that returned `code`, such as "zmq_bind"
      def error_check(source, code)
        return true unless code == -1
        klass =
          case source
          when /\Azmq_ctx_/ then ContextError
          when /\Azmq_msg_/ then MessageError
          else ZeroMQError
          end
        raise klass.new(source, code, errno, error_string)
      end

      # @return [Array(String, String)] a new public and secret CURVE key, 40 characters of Z85 each
      def curve_keypair
        pair = Godwit::Curve.keypair
        [pair.public_key, pair.secret_key]
      rescue Godwit::Error => error
        errno = Failures.errno_of(error)
        raise NotSupportedError.new("zmq_curve_keypair", -1, errno, error.message)
      end

      # Binds a socket to a free port between 10,000 and 65,533.
      # @param socket [Socket, nil] nil: the method `socket` of a subclass returns the socket
      # @return [Integer, nil] the port; nil if no free port was found
      def bind_to_random_tcp_port(host = "127.0.0.1", max_tries = 500, socket: nil)
        socket ||= respond_to?(:socket) && self.socket
        raise ArgumentError, "bind_to_random_tcp_port: which socket? (give socket:)" unless socket
        max_tries.times do
          port = rand(10_000..65_533)
          return port if resultcode_ok?(socket.bind("tcp://#{host}:#{port}"))
        end
        nil
      end
    end
  end
end
