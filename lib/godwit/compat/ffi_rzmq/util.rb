# frozen_string_literal: true

module ZMQ
  # Return codes and errnos.
  class Util
    class << self
      # @param code [Integer] what a call gave
      # @return [Boolean] whether it went well
      def resultcode_ok?(code) = code >= 0

      # @return [Integer] of the call that failed last in this thread; 0 before the first
      def errno = Godwit::Compat::FFIRzmq::Failures.last

      # @return [String] {errno} in words
      def error_string = Godwit::Compat::FFIRzmq::Failures.words(errno)

      # @param source [String] the call of libzmq's, such as "zmq_bind"
      # @param code [Integer] what it gave
      # @return [true]
      # @raise [ContextError, MessageError, ZeroMQError] when it failed, with the errno
      def error_check(source, code)
        return true unless code == -1
        raise error_class(source).new(source, code, errno, error_string)
      end

      # @return [Array(String, String)] a new public and secret CURVE key, 40 characters of Z85 each
      # @raise [NotSupportedError] when this libzmq has no CURVE
      def curve_keypair
        pair = Godwit::Curve.keypair
        [pair.public_key, pair.secret_key]
      rescue Godwit::Error => error
        raise NotSupportedError.new(
          "zmq_curve_keypair", -1, Godwit::Compat::FFIRzmq::Failures.errno_of(error), error.message
        )
      end

      # Binds a socket to a free port between 10,000 and 65,533. (In ffi-rzmq it raises a NameError:
      # there it cannot be told the socket.)
      # @param host [String] an address of this machine
      # @param max_tries [Integer]
      # @param socket [Socket] a subclass that has a method `socket` may leave it out
      # @return [Integer, nil] the port; nil when none was free
      # @raise [ArgumentError] when no socket is given
      def bind_to_random_tcp_port(host = "127.0.0.1", max_tries = 500, socket: nil)
        socket ||= respond_to?(:socket) && self.socket
        raise ArgumentError, "bind_to_random_tcp_port: which socket? (give socket:)" unless socket
        max_tries.times do
          port = rand(10_000..65_533)
          return port if resultcode_ok?(socket.bind("tcp://#{host}:#{port}"))
        end
        nil
      end

      private

      def error_class(source)
        case source
        when /\Azmq_ctx_/ then ContextError
        when /\Azmq_msg_/ then MessageError
        else ZeroMQError
        end
      end
    end
  end
end
