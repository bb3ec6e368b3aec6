# frozen_string_literal: true

module ZMQ
  # Return codes and errnos.
  class Util
    class << self
      # @param code [Integer] what a call returned
      # @return [Boolean] whether the call succeeded
      def resultcode_ok?(code) = code >= 0

      # @return [Integer] errno of this thread's last failure; 0 before the first
      def errno = Failures.last

      # @return [String] {errno} in words
      def error_string = Failures.words(errno)

      # @param source [String] the function of libzmq, such as "zmq_bind"
      # @param code [Integer] what the function returned
      # @return [true]
      # @raise [ContextError, MessageError, ZeroMQError] when the code is -1
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
      # @raise [NotSupportedError] when this libzmq has no CURVE
      def curve_keypair
        pair = Godwit::Curve.keypair
        [pair.public_key, pair.secret_key]
      rescue Godwit::Error => error
        errno = Failures.errno_of(error)
        raise NotSupportedError.new("zmq_curve_keypair", -1, errno, error.message)
      end

      # Binds a socket to a free port between 10,000 and 65,533.
      # @param host [String] an address of this machine
      # @param max_tries [Integer]
      # @param socket [Socket, nil] nil: a subclass's method `socket` returns it
      # @return [Integer, nil] the port; nil when none was free
      # @raise [ArgumentError] without a socket
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
