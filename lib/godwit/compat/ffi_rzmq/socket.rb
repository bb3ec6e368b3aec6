# frozen_string_literal: true

require_relative "socket/options"
require_relative "socket/receiving"
require_relative "socket/sending"

module ZMQ
  # A socket: calls return 0 or more, or -1 and an errno ({Util.errno}).
  #
  # **Threads**: one thread at a time uses a socket, as in ffi-rzmq, since the frames of a message
  # that was begun belong to the socket. Calls that wait end on `Thread#kill`, `Thread#raise`,
  # `Timeout`, Ctrl-C, {#close} and {Context#terminate}.
  class Socket
    include Options
    include Receiving
    include Sending

    # @return [Handle, nil] stands in for libzmq's socket; nil once it is closed
    attr_reader :socket
    attr_reader :name

    # @return [Socket, nil] nil where {#initialize} raises
    def self.create(context, type, opts = {receiver_class: Message})
      new(context, type, opts)
    rescue ContextError
      nil
    end

    # @param opts [Hash] `receiver_class:` what {#recvmsgs} and {#recv_multipart} make; default
    #   {Message}
    # @raise [ContextError] when the context is terminated or full, or there is no such type
    def initialize(context, type, opts = {receiver_class: Message})
      @context = Handle.owner_of(context, Context)
      home = @context&.godwit # read once, since another thread may terminate the context
      unless home
        raise ContextError.new("zmq_socket", 0, ETERM, "there is no context, or it was terminated")
      end
      @receiver_class = opts[:receiver_class] || Message
      @name = SocketTypeNameMap[type]
      refused(EINVAL, "there is no socket type #{type.inspect}") unless @name
      @held = [] # frames sent with SNDMORE
      @rest = [] # frames received and not yet read
      @turn = {"REQ" => :send, "REP" => :receive}[@name]
      take_over(Godwit.const_get(@name).new(context: home))
      use
      Godwit::Compat::FFIRzmq::SOCKETS.add(self)
    rescue Godwit::Error => error
      refused(errno_of(error), error.message)
    end

    def bind(address) = attach(:bind, address)
    def connect(address) = attach(:connect, address)
    def unbind(address) = detach(:unbind, :disconnect, address)
    def disconnect(address) = detach(:disconnect, :unbind, address)

    # Closes the socket, which goes on sending in the background for its linger. A second call does
    # nothing.
    def close
      godwit, @godwit = @godwit, nil
      @socket = nil
      @held = []
      @rest = []
      godwit&.close
      0
    rescue Godwit::ForkedError
      0 # the parent process closes it
    end

    # @private -- and so are the methods below
    # @return [Godwit::Socket, nil] nil once it is closed
    attr_reader :godwit
    attr_reader :context
    # @return [Boolean] whether it holds frames of a partly received message
    def rest? = !@rest.empty?
    # @return [Boolean] whether it is open, and another living thread used it last
    def used_elsewhere? = !@godwit.nil? && !@user.equal?(Thread.current) && @user.alive?
    # Remembers the thread that uses the socket.
    def use = @user = Thread.current

    def monitor=(monitor)
      @monitor&.close
      @monitor = monitor
    end

    def record(error) = failed(errno_of(error))

    private

    def take_over(godwit)
      @godwit = godwit
      @socket = Handle.new(self, godwit.pointer)
    end

    def attach(how, address)
      return failed(ENOTSOCK) unless @godwit
      use
      @godwit.public_send(how, address)
      0
    rescue Godwit::Error => error
      record(error)
    end

    # libzmq's zmq_unbind ends a connection too, and zmq_disconnect a bind.
    def detach(how, other, address)
      return failed(ENOTSOCK) unless @godwit
      begin
        @godwit.public_send(how, address)
      rescue Godwit::NoEndpointError
        @godwit.public_send(other, address)
      end
      0
    rescue Godwit::Error => error
      record(error)
    end

    # @return [Integer, nil] the backend's time-out: 0 does not wait
    def timeout_of(flags) = flags.anybits?(DONTWAIT) ? 0 : nil
    def failed(errno) = Failures.set_errno(errno)

    # In libzmq, the calls on a socket fail with ETERM once its context has ended.
    def errno_of(error)
      return ETERM if error.is_a?(Godwit::ClosedError) && @context.terminated?
      Failures.errno_of(error)
    end

    def refused(errno, message)
      failed(errno)
      raise ContextError.new("zmq_socket", 0, errno, message)
    end
  end
end
