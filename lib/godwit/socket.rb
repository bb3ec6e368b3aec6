# frozen_string_literal: true

require_relative "socket/messages"
require_relative "socket/peers"
require_relative "socket/security"

module Godwit
  # A ZeroMQ socket; its classes are the types: {REQ}, {REP}, {DEALER}, {ROUTER}, {PUB}, {SUB}, {XPUB}, {XSUB}, {PUSH}, {PULL},
  # {PAIR}, {STREAM}.
  #
  #   rep = Godwit::REP.bind("tcp://127.0.0.1:5555")
  #   req = Godwit::REQ.connect("tcp://127.0.0.1:5555", linger: 0)
  #
  # **Threads and fibers**: any number may use one socket at once; each message is sent and received whole. With a
  # `Fiber.scheduler`, what waits lets other fibers run. Every waiting call ends on `Thread#kill`, `Thread#raise`, `Timeout`,
  # a signal, {#close} (with {ClosedError}) and {Context#shutdown} (with {ContextTerminatedError}).
  #
  # **Kill**: CRuby may drop the result of a method when a kill arrives as it returns, and the message with it. Consumers that
  # may be killed run under `Thread.handle_interrupt(Object => :on_blocking)`: then an interrupt is taken while they wait,
  # before a message is theirs, and nowhere else.
  #
  # **Fork**: in a child every method of an inherited socket raises {ForkedError}.
  #
  # @see http://api.zeromq.org/4-3:zmq-socket zmq_socket(3)
  class Socket
    include Options::SocketAccessors
    include Messages
    include Peers
    include Backend::IMPLEMENTATION::Takeover if defined?(Backend::IMPLEMENTATION::Takeover) && !ENV["GODWIT_NO_TAKEOVER"]

    class << self
      # Makes a socket. With a block: yields it, closes it afterwards, and gives the block's value.
      # @see #initialize
      def new(*arguments, **options, &block)
        raise NoMethodError, "#{self} is abstract: use Godwit::REQ, Godwit::PUB…" if equal?(Socket)
        within(super, &block)
      end

      # Makes a socket and binds it.
      # @param endpoints [Array<String>] one or several
      # @param ports [Range, nil] see {#bind}
      # @param options [Hash] see {#initialize}
      # @return [Socket] or the block's value
      # @raise [Error] see {#initialize} and {#bind}; nothing stays open then
      def bind(*endpoints, ports: nil, **options, &block)
        attach(:bind, endpoints, options, {ports: ports}, &block)
      end

      # Makes a socket and connects it.
      # @param endpoints [Array<String>] one or several
      # @param options [Hash] see {#initialize}
      # @return [Socket] or the block's value
      # @raise [Error] see {#initialize} and {#connect}; nothing stays open then
      def connect(*endpoints, **options, &block)
        attach(:connect, endpoints, options, {}, &block)
      end

      # @param type [Symbol, String] such as :REQ
      # @return [Class] the class of that name
      # @raise [ArgumentError] when there is none; it names those there are
      def class_of(type)
        name = type.to_s.upcase.to_sym
        return Godwit.const_get(name) if SOCKET_TYPES.key?(name)
        raise ArgumentError, "no socket type #{type.inspect}: there are #{SOCKET_TYPES.keys.join(", ")}"
      end

      # @return [Symbol] such as :REQ
      def type
        self::TYPE
      end

      private

      def attach(how, endpoints, options, keywords, &block)
        raise ArgumentError, "#{how} needs an endpoint, such as \"tcp://127.0.0.1:5555\"" if endpoints.empty?
        endpoints.each { |endpoint| Endpoint.check(endpoint, how) } # before a socket is made for it
        socket = new(**options)
        begin
          socket.public_send(how, *endpoints, **keywords)
        rescue
          socket.close
          raise
        end
        within(socket, &block)
      end

      def within(socket)
        return socket unless block_given?
        begin
          yield socket
        ensure
          socket.close unless socket.__send__(:_forked?) # a child that ends within the block leaves it to its parent
        end
      end
    end

    # @param context [Context, nil] nil: the process's own
    # @param encoding [Encoding, String, nil] of the Strings it receives; nil: binary
    # @param subscribe [String, Array<String>, nil] SUB: topics, as {#subscribe}
    # @param curve [Curve::Keypair, nil] its CURVE keys: those of a server, or, with `server_key:`, of a client
    # @param server_key [String, nil] CURVE client: the server's public key, Z85 or raw
    # @param plain [Array(String, String), nil] PLAIN client: user name and password
    # @param count_peers [Boolean, nil] whether {#wait_connected} shall work; nil: for the types with slow joiners
    # @param options [Hash{Symbol => Object}] any socket option, such as `recv_hwm: 10_000`, `linger: 0`, `mandatory: true`,
    #   `plain_server: true`, `relaxed: true` (docs/options.md)
    # @raise [OptionError] when an option is unknown, or its value is not allowed
    # @raise [CurveKeyError] for a malformed key
    # @raise [UnsupportedError] when the running libzmq lacks the type
    # @raise [TooManySocketsError] when the context or the process has no room for one more
    # @raise [ClosedError] when the context is closed
    def initialize(context: nil, encoding: nil, subscribe: nil, curve: nil, server_key: nil, plain: nil, count_peers: nil, **options)
      @context = context || Godwit.context
      @endpoints = []
      @settings = {}
      Socket.check_type(self.class)
      settings = starting_options(options.merge(Security.options(curve, server_key, plain)), Array(subscribe))
      encoding &&= Encoding.find(encoding)
      _open(@context, SOCKET_TYPES.fetch(type), settings.any? { |option, raw| option.name == :conflate && raw == 1 })
      begin
        settings.each { |option, raw| store(option, raw) }
        _set_encoding(encoding) if encoding
        count_peers(count_peers)
      rescue
        _close
        raise
      end
    end

    # @private
    def self.check_type(klass)
      return unless DRAFT_TYPES.include?(klass.type) && !Godwit.has?(:draft)
      raise Errors.build(UnsupportedError, :new, nil, "#{klass.type} is a draft type: it needs a libzmq built with ENABLE_DRAFTS")
    end

    # @return [Context] the one it was made in
    attr_reader :context

    # @return [Symbol] such as :REQ
    def type
      self.class.type
    end

    # Takes connections at one or several endpoints.
    # @param endpoints [Array<String>] such as `tcp://127.0.0.1:5555`, `tcp://*:*`, `ipc:///tmp/name`, `ipc://@name`, `inproc://name`
    # @param ports [Range<Integer>, nil] tcp: the first free port of these stands in for a `*`
    # @return [self] {#port} and {#last_endpoint} tell what a wildcard became
    # @raise [EndpointError] when it is malformed
    # @raise [ProtocolError] when there is no such transport
    # @raise [AddressInUseError] when somebody listens there
    # @raise [InterfaceError, AddressNotAvailableError] when it is no
    #   address of this machine; @raise [AccessError] when it is not permitted
    # @see http://api.zeromq.org/4-3:zmq-bind zmq_bind(3)
    def bind(*endpoints, ports: nil)
      endpoints.each { |endpoint| ports ? bind_in(endpoint, ports) : bind_one(endpoint) }
      self
    end

    # Connects to one or several endpoints, now or as soon as somebody listens there. A host name is resolved in the background.
    # @param endpoints [Array<String>] such as `tcp://host:5555`; `tcp://source:0;host:5555` names the source address too
    # @return [self]
    # @raise [EndpointError] when it is malformed
    # @raise [ProtocolError] when there is no such transport
    # @see http://api.zeromq.org/4-3:zmq-connect zmq_connect(3)
    def connect(*endpoints)
      endpoints.each do |endpoint|
        Endpoint.check(endpoint, :connect)
        endpoint = endpoint.dup.freeze # the caller may change his
        _connect(endpoint)
        @endpoints += [[:connect, endpoint, endpoint]]
      end
      self
    end

    # Stops listening there; peers that are connected lose their connection.
    # @param endpoint [String] as given to {#bind}, or as {#endpoints} shows it
    # @return [self]
    # @raise [NoEndpointError] when it is not bound there
    def unbind(endpoint)
      detach(:bind, :unbind, endpoint)
    end

    # Ends a connection. Messages not sent yet go on for linger.
    # @param endpoint [String] as given to {#connect}
    # @return [self]
    # @raise [NoEndpointError] when it is not connected there
    def disconnect(endpoint)
      detach(:connect, :disconnect, endpoint)
    end

    # @return [Array<String>] where it is bound (wildcards replaced) and connected, in order
    def endpoints
      @endpoints ? @endpoints.map(&:last) : [] # a subclass may have forgotten super
    end

    # @return [String, nil] the endpoint last bound or connected, wildcards replaced
    def last_endpoint
      @endpoints.last&.last
    end

    # @return [Integer, nil] port of the tcp endpoint last bound
    def port
      @endpoints.reverse_each do |how, _, endpoint|
        found = Endpoint.port(endpoint) if how == :bind
        return found if found
      end
      nil
    end

    # Asks for messages that start with these topics.
    # @param topics [Array<String>] "" for all; several are joined by "or"
    # @return [self]
    # @raise [OptionError] on other types than SUB
    def subscribe(*topics)
      topics.each { |topic| apply_option(:subscribe, topic) }
      self
    end

    # Takes back {#subscribe}; each as often as it was asked for.
    # @param topics [Array<String>]
    # @return [self]
    def unsubscribe(*topics)
      topics.each { |topic| apply_option(:unsubscribe, topic) }
      self
    end

    # @param name [Symbol] of an option, see docs/options.md
    # @return [Object] its value
    # @raise [OptionError] when it is unknown or cannot be read
    def get(name)
      option = Options.fetch(name)
      option.check_readable(type)
      option.decode(_get_option(option.id))
    end

    # @param name [Symbol] of an option; some act only on endpoints bound or connected afterwards
    # @param value [Object]
    # @return [Object] the value
    # @raise [OptionError] when it is unknown, cannot be set, or the value is not allowed
    def set(name, value)
      apply_option(name, value)
      value
    end

    # @return [Encoding] of the Strings that it receives
    def encoding
      _encoding
    end

    # @param encoding [Encoding, String]
    # @raise [ArgumentError] when it is unknown
    def encoding=(encoding)
      _set_encoding(Encoding.find(encoding))
    end

    # ZeroMQ's descriptor, for event loops of other libraries. It is edge-triggered: readable means "ask {#events} now", and
    # after every call on the socket ask again; never read from it, and do not hand it to `IO.select` with messages waiting.
    # @return [Integer]
    # @see http://api.zeromq.org/4-3:zmq-getsockopt ZMQ_FD in zmq_getsockopt(3)
    def zmq_fd
      _fd
    end

    # @return [Integer] address of libzmq's socket, for other libraries that take one. A {PUB} is libzmq's XPUB.
    def pointer
      _pointer
    end

    # Closes it at once; what it has not sent yet goes on for linger in the background. Callers that wait on it get
    # {ClosedError}. A second call does nothing.
    # @return [nil]
    def close
      _close
    end

    # @return [Boolean]
    def closed?
      _closed?
    end

    # @return [String] type, endpoints and state; never a key
    def inspect
      places = (@endpoints || []).map { |how, _, endpoint| " #{(how == :bind) ? "bound to" : "connected to"} #{endpoint}" }.join(",")
      "#<#{self.class}#{places}#{" (closed)" if closed?}>"
    end
    alias_method :to_s, :inspect

    private

    def bind_one(endpoint)
      Endpoint.check(endpoint, :bind)
      endpoint = endpoint.dup.freeze # the caller may change his
      resolved = _bind(endpoint).freeze
      @endpoints += [[:bind, endpoint, resolved]]
    end

    def bind_in(endpoint, ports)
      Endpoint.check(endpoint, :bind)
      unless endpoint.match?(%r{\A(tcp|wss?)://.*:\*}) && ports.respond_to?(:each) && ports.first.is_a?(Integer)
        raise Errors.build(EndpointError, :bind, endpoint, "ports: is a Range of numbers for an endpoint that ends in :*")
      end
      ports.each do |port|
        return bind_one(endpoint.sub(":*", ":#{port}"))
      rescue AddressInUseError
        next
      end
      raise Errors.build(AddressInUseError, :bind, endpoint, "no port of #{ports} is free")
    end

    # libzmq would unbind a connection and disconnect a bind: it does not tell the two apart.
    def detach(how, operation, endpoint)
      Endpoint.check(endpoint, operation)
      index = @endpoints.rindex { |kind, given, resolved| kind == how && [given, resolved].include?(endpoint) }
      raise Errors.build(closed? ? ClosedError : NoEndpointError, operation, endpoint) unless index
      resolved = @endpoints[index].last
      (operation == :unbind) ? _unbind(resolved) : _disconnect(resolved)
      @endpoints = @endpoints[0...index] + @endpoints[index + 1..]
      self
    end

    # All are checked before libzmq makes a socket, whose place in the context would be free again only some time later.
    def starting_options(options, topics)
      defaults = @context.socket_options.select { |name, _| Options.fetch(name).for_type?(type) }
      wanted = defaults.merge(options).to_a + topics.map { |topic| [:subscribe, topic] }
      wanted.map do |name, value|
        option = Options.fetch(name)
        [option, option.encode(value, type)]
      end
    end

    def apply_option(name, value)
      option = Options.fetch(name)
      raise option.error("of a PUB is given to its constructor") if option.name == :conflate && type == :PUB
      store(option, option.encode(value, type))
    end

    def store(option, raw)
      _set_option(option.id, raw)
      @settings[option.id] = raw # for REQ#request, which may have to make the socket anew
    end
  end
end
