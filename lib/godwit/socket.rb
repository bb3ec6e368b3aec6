# frozen_string_literal: true

module Godwit
  # A ZeroMQ socket. Its subclasses are the types: {REQ}, {REP}, {DEALER}, {ROUTER}, {PUB}, {SUB},
  # {XPUB}, {XSUB}, {PUSH}, {PULL}, {PAIR}, {STREAM}; and the draft types {CLIENT}, {SERVER},
  # {RADIO}, {DISH}, {SCATTER}, {GATHER}, {PEER}, {CHANNEL}, {DGRAM}.
  #
  #   rep = Godwit::REP.bind("tcp://127.0.0.1:5555")
  #   req = Godwit::REQ.connect("tcp://127.0.0.1:5555", linger: 0)
  #
  # **Threads and fibers**: any number may use one socket at once; messages stay whole. With a
  # `Fiber.scheduler` a waiting call lets other fibers run. Every wait ends on `Thread#kill`,
  # `Thread#raise`, `Timeout`, a signal, {#close} (with {ClosedError}) and {Context#shutdown} (with
  # {ContextTerminatedError}).
  #
  # **Enumerable**: {Messages#each} yields messages until the socket is closed: `first(3)`, `lazy`,
  # `each_slice`…; without `to_a`, so that `[*socket]` is an Array of that socket.
  #
  # **Kill**: CRuby may drop a method's result, and so a message, when a kill arrives as the method
  # returns. Run consumers that may be killed under `Thread.handle_interrupt(Object =>
  # :on_blocking)`: then interrupts arrive only in a wait, before a message is received.
  #
  # **Fork**: in a child every method of an inherited socket raises {ForkedError}.
  # @see http://api.zeromq.org/4-3:zmq-socket zmq_socket(3)
  class Socket
    extend Keywords
    include AutoClose
    include Enumerable

    # With these methods, `[*socket]` and `Array(socket)` would wait until the socket is closed.
    undef_method :to_a, :entries
    UNSET = Timeout::UNSET
    private_constant :UNSET
    include Options::SocketAccessors
    include Endpoints
    include Settings
    include Messages
    include Hooks

    class << self
      # Makes a socket. With a block: yields it, closes it afterwards, and gives the block's value.
      # @param arguments [Array] not allowed: all arguments are keywords
      # @param options [Hash] see {#initialize}
      # @return [Socket] or the block's value
      def new(*arguments, **options, &block)
        raise NoMethodError, "#{self} is abstract: use Godwit::REQ, Godwit::PUB…" if equal?(Socket)
        if arguments.first.is_a?(String)
          raise Errors.of(ArgumentValueError, :new, "an endpoint is given to #{self}.bind or " \
            "#{self}.connect: #{self}.connect(#{arguments.first.inspect})")
        end
        AutoClose.with(super, &block)
      end

      # Makes a socket and binds it.
      # @param endpoints [Array<String>] one or more
      # @param ports [Range, nil] see {#bind}
      # @param options [Hash] see {#initialize}
      # @return [Socket] or the block's value
      # @raise [Error] see {#initialize} and {#bind}; then nothing stays open
      def bind(*endpoints, ports: nil, **options, &block)
        attach(:bind, endpoints, options, {ports: ports}, &block)
      end

      # Makes a socket and connects it.
      # @param endpoints [Array<String>] one or more
      # @param options [Hash] see {#initialize}
      # @return [Socket] or the block's value
      # @raise [Error] see {#initialize} and {#connect}; then nothing stays open
      def connect(*endpoints, **options, &block) = attach(:connect, endpoints, options, {}, &block)

      # @param type [Symbol, String] such as :REQ
      # @return [Class] the class of that name
      # @raise [ArgumentValueError] when there is no such type
      def class_of(type)
        name = Runtime.utf8(type.to_s).upcase.to_sym
        types = SOCKET_TYPES.keys.select { |one| Godwit.const_defined?(one) } # mruby has no drafts
        return Godwit.const_get(name) if types.include?(name)
        raise ArgumentValueError, "no socket type #{type.inspect}: there are #{types.join(", ")}"
      end

      # @return [Symbol] such as :REQ
      def type = self::TYPE

      private

      def attach(how, endpoints, options, keywords, &block)
        Endpoint.check_any(endpoints, how)
        endpoints.each { |endpoint| Endpoint.check(endpoint, how) }
        socket = new(**options)
        begin
          socket.__send__(how, *endpoints, **keywords)
        rescue => error
          socket.close
          raise error
        end
        AutoClose.with(socket, &block)
      end
    end

    # @param context [Context, nil] nil: the process's default
    # @param encoding [Encoding, String, nil] of received Strings; nil: binary
    # @param subscribe [String, Array<String>, nil] SUB: topics, as {#subscribe}
    # @param curve [Curve::Keypair, Cert] its CURVE keys: those of a server, or, with
    #   `server_key:`, of a client
    # @param server_key [String, Cert] CURVE client: the server's public key, Z85 or raw
    # @param plain [Array(String, String)] PLAIN client: user name and password
    # @param auth [String] a server: the domain in which the context's {Auth} decides which
    #   clients may connect, 1 to 255 bytes. Without an Auth the socket refuses all clients
    # @param copy_threshold [Integer, nil] bytes, see {Frames#copy_threshold}; not given:
    #   {Frame::COPY_THRESHOLD}
    # @param count_peers [Boolean, nil] whether {#wait_connected} works; nil: true for types with
    #   slow joiners, else false
    # @param format [Symbol, Object, nil] how `send` encodes a value and `recv` decodes it: :json
    #   (keys become Symbols), :msgpack (by the gem msgpack), :text (UTF-8), :raw, or an object with
    #   `dump` and `load`; nil: messages are frames ({file:docs/send-json.md})
    # @param options [Hash{Symbol => Object}] any socket option, such as `recv_hwm: 10_000` or
    #   `linger: 0` ({file:docs/options.md})
    # @raise [OptionError] for an unknown option or a wrong value
    # @raise [CurveKeyError] for a malformed key
    # @raise [ArgumentValueError, ArgumentTypeError] for another wrong argument, also an explicit
    #   nil as `curve`, `server_key`, `plain` or `auth`: perhaps a variable that is not set
    # @raise [UnsupportedError] when the running libzmq lacks the type
    # @raise [TooManySocketsError] when the context or the process can open no further socket
    # @raise [ClosedError] when the context is closed
    def initialize(
      context: nil, encoding: nil, subscribe: nil, curve: nil, server_key: nil, plain: nil,
      auth: nil, count_peers: nil, format: nil, copy_threshold: UNSET, **options
    )
      raise Errors.open_already(:new, "socket", "#{self.class}.new") if @context
      @context = Context.of(context, :new)
      @endpoints = []
      @settings = {}
      @names = RoutingNames.new(type)
      Socket.check_type(self.class)
      options = options.merge(Security.options(curve, server_key, plain))
      options = Authentication.options(type, @context.socket_options, auth, options)
      settings = starting_options(options, Array(subscribe))
      checked = Hooks.check(self, encoding: encoding, copy_threshold: copy_threshold,
        count_peers: count_peers, format: format)
      conflates = settings.any? { |option, raw| option.name == :conflate && raw == 1 }
      _open(@context, SOCKET_TYPES.fetch(type), conflates)
      begin
        settings.each { |option, raw, value| store(option, raw, value) }
        Authentication.apply(self, auth, settings)
        Hooks.start(self, checked)
      rescue => error
        _close
        raise error
      end
    end

    # @private
    # @param block [Proc] the block of a {LazySocket} or a {Pool}
    def self.opened_by(block, operation, name)
      socket = block.call
      return socket if socket.is_a?(Socket)
      raise Errors.bad_type(operation, name, "no argument and gives a new Godwit::Socket", socket)
    end

    # @private
    def self.check_type(klass)
      return if !DRAFT_TYPES.include?(klass.type) || Backend::IMPLEMENTATION.draft?
      raise Errors.build(UnsupportedError, :new, nil, "#{klass.type} is a draft type: it needs " \
        "the C extension and a libzmq built with ENABLE_DRAFTS, such as the gem's for " \
        "x86_64-linux, or that of `rake draft` in Godwit's sources")
    end

    # @return [Context] the socket's context
    attr_reader :context
    # @return [Symbol] such as :REQ
    def type = self.class.type
    # @return [Object, nil] the format: `dump(value)` returns bytes, `load(bytes)` the value
    attr_reader :format

    # ZeroMQ's descriptor, for event loops of other libraries. It is edge-triggered: call {#events}
    # when it is readable and after every call on the socket. Never read from it, and never call
    # `IO.select` on it while messages wait. (A thread-safe draft type has the descriptor of a
    # `zmq_poller`, which stays readable until {#events} is called.)
    # @return [Integer]
    # @see http://api.zeromq.org/4-3:zmq-getsockopt ZMQ_FD in zmq_getsockopt(3)
    def zmq_fd = _fd
    # @return [Integer] address of libzmq's socket, for other libraries. A {PUB} is libzmq's XPUB;
    #   in the C extension a {REP} is its ROUTER.
    def pointer = _pointer

    # Closes the socket at once; libzmq continues to send its messages for the linger time. Threads
    # that wait on the socket get {ClosedError}. A second call does nothing.
    # @return [nil]
    def close
      @unfinished = nil
      _end_diagnosis if @diagnosis
      _close
      Hooks.close(self)
      nil
    end

    # @return [Boolean]
    def closed? = _closed?

    # @return [String] type, endpoints and state; never a key
    def inspect
      sides = (@endpoints || []).map do |how, _, endpoint|
        " #{(how == :bind) ? "bound to" : "connected to"} #{endpoint}"
      end
      "#<#{self.class}#{sides.join(",")}#{" (closed)" if closed?}>"
    end
    alias_method :to_s, :inspect

    # @private
    def initialize_copy(_original)
      fix = "share this one, any thread may use it, or make another with #{self.class}.new; a " \
        "Ractor makes its own"
      raise Errors.no_copy("socket", fix)
    end
  end
end
