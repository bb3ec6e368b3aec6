# frozen_string_literal: true

require_relative "socket/options"
require_relative "socket/receiving"
require_relative "socket/sending"

module ZMQ
  # A socket: calls give 0 or more, or -1 and an errno ({Util.errno}).
  #
  # **Threads**: as in ffi-rzmq one thread at a time uses it, since parts of a message that was
  # begun belong to the socket. Calls that wait end on `Thread#kill`, `Thread#raise`, `Timeout`,
  # Ctrl-C, {#close} and {Context#terminate}.
  class Socket
    include Options
    include Receiving
    include Sending

    # @return [Handle, nil] stands for libzmq's socket; nil once it is closed
    attr_reader :socket
    # @return [String] its type, such as "REQ"
    attr_reader :name

    # @param context [Context, Handle] a context, or its pointer
    # @param type [Integer] such as `REQ`
    # @param opts [Hash] see {#initialize}
    # @return [Socket, nil] nil when it cannot be made
    def self.create(context, type, opts = {receiver_class: Message})
      new(context, type, opts)
    rescue ContextError
      nil
    end

    # @param context [Context, Handle] a context, or its pointer
    # @param type [Integer] such as `REQ`
    # @param opts [Hash] `receiver_class:` what {#recvmsgs} and {#recv_multipart} make, {Message}
    #   unless given
    # @raise [ContextError] when the context is terminated, full, or there is no such type
    def initialize(context, type, opts = {receiver_class: Message})
      @context = Handle.owner_of(context, Context)
      home = @context&.godwit # once: another thread may terminate it meanwhile
      unless home
        raise ContextError.new("zmq_socket", 0, ETERM, "there is no context, or it was terminated")
      end
      @receiver_class = opts[:receiver_class] || Message
      @name = SocketTypeNameMap[type]
      refused(EINVAL, "there is no socket type #{type.inspect}") unless @name
      @held = []
      @rest = []
      @turn = {"REQ" => :send, "REP" => :receive}[@name]
      take_over(Godwit.const_get(@name).new(context: home))
      @user = Thread.current
      @context.note(self)
    rescue Godwit::Error => error
      refused(errno_of(error), error.message)
    end

    # @param address [String] such as "tcp://127.0.0.1:5555"
    # @return [Integer] 0 or -1
    def bind(address)
      attach(:bind, address)
    end

    # @param address [String] such as "tcp://127.0.0.1:5555"
    # @return [Integer] 0 or -1
    def connect(address)
      attach(:connect, address)
    end

    # @param address [String] as given to {#bind}
    # @return [Integer] 0 or -1
    def unbind(address)
      detach(:unbind, :disconnect, address)
    end

    # @param address [String] as given to {#connect}
    # @return [Integer] 0 or -1
    def disconnect(address)
      detach(:disconnect, :unbind, address)
    end

    # Closes it; what was sent goes on for linger, in the background. A second call does nothing.
    # @return [Integer] 0
    def close
      godwit, @godwit = @godwit, nil
      @socket = nil
      @held = []
      @rest = []
      godwit&.close
      0
    rescue Godwit::ForkedError
      0 # it is the parent's
    end

    # @private
    # @return [Godwit::Socket, nil] nil once it is closed
    attr_reader :godwit

    # @private
    # @return [Boolean] whether parts of a message that was begun wait here
    def rest? = !@rest.empty?

    # @private
    def terminated? = @context.terminated?

    # @private
    # @return [Boolean] whether it is open, and another thread used it last, which can still close
    #   it
    def used_elsewhere? = !@godwit.nil? && !@user.equal?(Thread.current) && @user.alive?

    # @private
    # This thread uses it.
    def use = @user = Thread.current

    # @private
    def note_monitor(monitor)
      @monitor = monitor
    end

    # @private
    def end_monitor
      @monitor&.close
      @monitor = nil
    end

    # @private
    # @return [Integer] -1
    def note(error) = failed(errno_of(error))

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
      note(error)
    end

    # libzmq ends either with either.
    def detach(how, other, address)
      return failed(ENOTSOCK) unless @godwit
      begin
        @godwit.public_send(how, address)
      rescue Godwit::NoEndpointError
        @godwit.public_send(other, address)
      end
      0
    rescue Godwit::Error => error
      note(error)
    end

    def dontwait?(flags) = flags.anybits?(DONTWAIT)

    def failed(errno) = Godwit::Compat::FFIRzmq::Failures.note(errno)

    # A socket that the end of its context closed says ETERM, as in libzmq.
    def errno_of(error)
      return ETERM if error.is_a?(Godwit::ClosedError) && @context.terminated?
      Godwit::Compat::FFIRzmq::Failures.errno_of(error)
    end

    def refused(errno, message)
      failed(errno)
      raise ContextError.new("zmq_socket", 0, errno, message)
    end
  end
end
