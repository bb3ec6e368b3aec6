# frozen_string_literal: true

module Godwit
  class Socket
    # Binds and connects.
    module Endpoints
      # Accepts connections at one or several endpoints.
      # @param endpoints [Array<String>] such as `tcp://127.0.0.1:5555`, `tcp://*:*`,
      #   `ipc:///tmp/name`, `ipc://@name`, `inproc://name`
      # @param ports [Range<Integer>, nil] tcp: the port `*` becomes the first free one of these
      # @return [self] {#port} and {#last_endpoint} have the values for wildcards
      # @raise [ArgumentValueError] without an endpoint, or for wrong `ports:`
      # @raise [EndpointError] when an endpoint is malformed
      # @raise [ProtocolError] when there is no such transport
      # @raise [AddressInUseError] when the address is in use, or the path of an ipc endpoint is
      #   anything but a socket. A later bind of the same process takes the path from its earlier
      #   socket. The file stays after the close
      # @raise [OptionError] when `use_fd` is no listening socket
      # @raise [InterfaceError, AddressNotAvailableError] when the machine has no such address
      # @raise [AccessError] when the bind is not permitted
      # @see http://api.zeromq.org/4-3:zmq-bind zmq_bind(3)
      def bind(*endpoints, ports: nil)
        Endpoint.check_any(endpoints, :bind)
        endpoints.each { |endpoint| ports ? bind_in(endpoint, ports) : bind_one(endpoint) }
        self
      end

      # Connects to one or several endpoints in the background, as soon as a peer listens there. A
      # host name is resolved in the background too, on an I/O thread of the context; a silent name
      # server stops that thread's other connections ({file:docs/limits.md}).
      # @param endpoints [Array<String>] such as `tcp://host:5555`, or with the source address
      #   `tcp://source:0;host:5555`
      # @return [self]
      # @raise [ArgumentValueError] without an endpoint
      # @raise [EndpointError] when an endpoint is malformed
      # @raise [ProtocolError] when there is no such transport
      # @raise [InterfaceError] for an IPv6 address without the option `ipv6`
      # @raise [OptionError] when the `connect_routing_id` can no longer be given to a peer
      # @see http://api.zeromq.org/4-3:zmq-connect zmq_connect(3)
      def connect(*endpoints)
        Endpoint.check_any(endpoints, :connect)
        endpoints.each do |endpoint|
          endpoint = check_endpoint(endpoint, :connect)
          _exclusive(:connect) do
            # A socket from `allocate` alone has no @names, and its _connect raises ClosedError.
            @names ? @names.give { _connect(endpoint) } : _connect(endpoint)
            record_endpoint(:connect, endpoint)
          end
        end
        self
      end

      # Stops listening at an endpoint; connected peers lose their connection.
      # @param endpoint [String] as given to {#bind}, or as {#endpoints} shows it
      # @return [self]
      # @raise [NoEndpointError] when the socket is not bound to the endpoint
      def unbind(endpoint) = detach(:bind, :unbind, endpoint)
      # Ends all connections to an endpoint. libzmq still sends queued messages for the linger time.
      # @param endpoint [String] as given to {#connect}
      # @return [self]
      # @raise [NoEndpointError] when the socket is not connected to the endpoint
      def disconnect(endpoint) = detach(:connect, :disconnect, endpoint)

      # @return [Array<String>] those of `bind` (wildcards replaced) and `connect`, the oldest first
      def endpoints
        @endpoints ? @endpoints.map(&:last) : [] # a subclass's `initialize` may lack `super`
      end

      # @private
      # @return [Boolean] whether the socket is bound to the endpoint, and not connected
      def bound_to?(endpoint)
        !@endpoints.nil? && @endpoints.any? { |how, _, name| how == :bind && name == endpoint }
      end

      # @private
      def binds? = !@endpoints.nil? && @endpoints.any? { |how, *| how == :bind }

      # @return [String, nil] the endpoint last bound or connected, wildcards replaced
      def last_endpoint = @endpoints&.last&.last

      # @return [Integer, nil] port of the tcp endpoint last bound
      def port
        @endpoints&.reverse_each do |how, _, endpoint|
          found = Endpoint.port(endpoint) if how == :bind
          return found if found
        end
        nil
      end

      private

      def bind_one(endpoint)
        endpoint = check_endpoint(endpoint, :bind)
        _exclusive(:bind) do
          check_given_descriptor(endpoint)
          resolved = _bind(endpoint).freeze
          @names.chosen_by_peers
          record_endpoint(:bind, endpoint, resolved)
        end
      end

      # Refuses endpoints for which libzmq would abort the process. Returns a frozen copy.
      def check_endpoint(endpoint, operation)
        Endpoint.check(endpoint, operation)
        Endpoint.check_path(endpoint) if operation == :bind
        check_family(endpoint) if operation == :connect
        if type == :STREAM && endpoint.start_with?("inproc:")
          Endpoint.refuse(operation, endpoint,
            "a STREAM speaks to TCP alone: give tcp://, or take a PAIR")
        elsif endpoint == Endpoint::ZAP && operation == :bind && !Endpoint::ZAP_TYPES.include?(type)
          Endpoint.refuse(operation, endpoint, "a ZAP handler is a REP, ROUTER or SERVER")
        elsif plain_without_domain?
          raise Errors.of(OptionError, operation,
            "zap_enforce_domain needs a domain for a PLAIN server: give zap_domain: \"name\"")
        end
        endpoint.dup.freeze
      end

      # Refuses IPv6 addresses without the option `ipv6`: libzmq would try for ever to resolve the
      # address as a name. A SOCKS proxy does not need the option.
      def check_family(endpoint)
        return if !Endpoint.ipv6?(endpoint) || ipv6 || socks_proxy
        raise Errors.build(InterfaceError, :connect, endpoint, ErrorHints::IPV6)
      end

      def plain_without_domain?
        return false unless @settings&.key?(Options.fetch(:zap_enforce_domain).id)
        get(:plain_server) && get(:zap_enforce_domain) && get(:zap_domain).to_s.empty?
      end

      # Records the endpoint in a new Array, since another thread may read the old one.
      def record_endpoint(how, given, resolved = given)
        _record(:@endpoints) { |known| known + [[how, given, resolved]] }
      end

      def check_given_descriptor(endpoint)
        number = @settings && @settings[Options.fetch(:use_fd).id]
        Endpoint.check_descriptor(number, endpoint) if number && !number.negative?
      end

      def bind_in(endpoint, ports)
        Endpoint.check(endpoint, :bind)
        numbers = ports.is_a?(Range) && ports.begin.is_a?(Integer) && ports.any?
        unless numbers && Endpoint.any_port?(endpoint)
          raise Errors.bad_value(:bind, "ports:",
            "a Range of numbers that is not empty, for an endpoint that ends in :*", ports)
        end
        ports.each do |port|
          return bind_one(endpoint.sub(":*", ":#{port}"))
        rescue AddressInUseError
          next
        end
        raise Errors.build(AddressInUseError, :bind, endpoint, "no port of #{ports} is free")
      end

      # Unbinds or disconnects an endpoint, after a check that it was bound, or connected: libzmq's
      # own unbind would end a connection too, and its disconnect a bind.
      def detach(how, operation, endpoint)
        Endpoint.check(endpoint, operation)
        _exclusive(operation) { detach_one(how, operation, endpoint) }
        self
      end

      def detach_one(how, operation, endpoint)
        known = @endpoints
        resolved =
          known.reverse.find { |kind, *names| kind == how && names.include?(endpoint) }&.last
        unless resolved
          raise Errors.build(closed? ? ClosedError : NoEndpointError, operation, endpoint)
        end
        # libzmq ends all binds to that name, or all connections.
        gone = known.select { |kind, _, other| kind == how && other == resolved }
        lost = false
        begin
          (operation == :unbind) ? _unbind(resolved) : _disconnect(resolved)
        rescue NoEndpointError => error
          raise error unless resolved.start_with?("udp://")
          lost = true
        end
        if lost
          raise Errors.build(UnsupportedError, operation, endpoint,
            "libzmq does not find an endpoint of udp again: close the socket")
        end
        _record(:@endpoints) { |now| now - gone }
      end
    end

    # The names that `connect_routing_id` gives to peers. libzmq aborts the process when a peer has
    # that name already, even while that peer disconnects. A peer can also choose its own name, but
    # libzmq does not report it. So each name is given once, and a ROUTER gives no name once a peer
    # may have chosen its own.
    # @private
    class RoutingNames
      attr_writer :next

      def initialize(type)
        @router = type == :ROUTER
        @given = {}
        @next = nil
        @chosen_by_peers = false
      end

      # Notes that peers may have chosen routing ids of their own.
      def chosen_by_peers
        @chosen_by_peers = true
      end

      def check(name)
        problem =
          if @given[name]
            "takes each name once in a socket's life, and #{name.inspect} was given before: " \
              "take another, or a new socket"
          elsif @chosen_by_peers && @router
            "is for a ROUTER before any bind, any connect without a name and immediate: true: " \
              "its peers may have given themselves #{name.inspect}, and libzmq allows no two of " \
              "one name: take another ROUTER for it"
          end
        raise Options.fetch(:connect_routing_id).error(problem) if problem
      end

      # Calls the block, which connects; libzmq gives the next name to the peer of that connection.
      def give
        name = @next
        check(name) if name
        yield
        return chosen_by_peers unless name
        @given[name] = true
        @next = nil
      end
    end
  end
end
