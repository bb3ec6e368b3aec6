# frozen_string_literal: true

module Godwit
  class Socket
    # Binding and connecting.
    module Endpoints
      # Takes connections at one or several endpoints.
      # @param endpoints [Array<String>] such as `tcp://127.0.0.1:5555`, `tcp://*:*`,
      #   `ipc:///tmp/name`, `ipc://@name`, `inproc://name`
      # @param ports [Range<Integer>, nil] tcp: the first free port of these stands in for a `*`
      # @return [self] {#port} and {#last_endpoint} tell what a wildcard became
      # @raise [ArgumentValueError] when none is given, or for such `ports:`
      # @raise [EndpointError] when it is malformed
      # @raise [ProtocolError] when there is no such transport
      # @raise [AddressInUseError] when somebody listens there. Not for the path of an ipc endpoint:
      #   who binds there later takes it over without a word, and the file stays after the close
      # @raise [OptionError] when `use_fd` is no socket that listens
      # @raise [InterfaceError, AddressNotAvailableError] when it is no
      #   address of this machine; @raise [AccessError] when it is not permitted
      # @see http://api.zeromq.org/4-3:zmq-bind zmq_bind(3)
      def bind(*endpoints, ports: nil)
        Endpoint.check_any(endpoints, :bind)
        endpoints.each { |endpoint| ports ? bind_in(endpoint, ports) : bind_one(endpoint) }
        self
      end

      # Connects to one or several endpoints, now or as soon as somebody listens there. A host name
      # is resolved in the background.
      # @param endpoints [Array<String>] such as `tcp://host:5555`; `tcp://source:0;host:5555` names
      #   the source address too
      # @return [self]
      # @raise [ArgumentValueError] when none is given
      # @raise [EndpointError] when it is malformed
      # @raise [ProtocolError] when there is no such transport
      # @raise [OptionError] when a `connect_routing_id` is set that cannot be given any more
      # @see http://api.zeromq.org/4-3:zmq-connect zmq_connect(3)
      def connect(*endpoints)
        Endpoint.check_any(endpoints, :connect)
        endpoints.each do |endpoint|
          check_endpoint(endpoint, :connect)
          endpoint = endpoint.dup.freeze # the caller may change its own
          _exclusive(:connect) do
            give_name { _connect(endpoint) }
            note_endpoint(:connect, endpoint)
          end
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
      # @return [self] of several connections to one endpoint, all are ended
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
        @endpoints&.last&.last
      end

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
        check_endpoint(endpoint, :bind)
        endpoint = endpoint.dup.freeze # the caller may change its own
        _exclusive(:bind) do
          check_given_descriptor(endpoint)
          resolved = _bind(endpoint).freeze
          peers_name_themselves
          note_endpoint(:bind, endpoint, resolved)
        end
      end

      # libzmq aborts the process for what this refuses.
      def check_endpoint(endpoint, operation)
        Endpoint.check(endpoint, operation)
        if type == :STREAM && endpoint.start_with?("inproc:")
          Endpoint.refuse(
            operation, endpoint, "a STREAM speaks to TCP alone: give tcp://, or take a PAIR"
          )
        elsif endpoint == Endpoint::ZAP && operation == :bind && !Endpoint::ZAP_TYPES.include?(type)
          Endpoint.refuse(operation, endpoint, "a ZAP handler is a REP, ROUTER or SERVER")
        elsif plain_without_domain?
          raise OptionError.new(
            "#{operation}: zap_enforce_domain needs a domain for a PLAIN server: give " \
            "zap_domain: \"name\"",
            operation: operation
          )
        end
      end

      def plain_without_domain?
        # Hardly ever given
        return false unless @settings&.key?(Options.fetch(:zap_enforce_domain).id)
        get(:plain_server) && get(:zap_enforce_domain) && get(:zap_domain).to_s.empty?
      end

      # A new Array, since others may be reading the old one.
      def note_endpoint(how, given, resolved = given)
        _record(:@endpoints) { |known| known + [[how, given, resolved]] }
      end

      def check_given_descriptor(endpoint)
        number = @settings && @settings[Options.fetch(:use_fd).id]
        Descriptor.check(number, endpoint) if number && !number.negative?
      end

      def bind_in(endpoint, ports)
        Endpoint.check(endpoint, :bind)
        unless endpoint.match?(%r{\A(tcp|wss?)://.*:\*}) && ports.is_a?(Range) &&
            ports.begin.is_a?(Integer) && ports.any?
          raise Errors.bad_value(
            :bind, "ports:",
            "a Range of numbers that is not empty, for an endpoint that ends in :*", ports
          )
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
        # libzmq ends all that are alike at once
        gone = known.select { |kind, _, other| kind == how && other == resolved }
        (operation == :unbind) ? _unbind(resolved) : _disconnect(resolved)
        _record(:@endpoints) { |now| now - gone }
      rescue NoEndpointError
        raise unless resolved&.start_with?("udp://")
        raise Errors.build(
          UnsupportedError, operation, endpoint,
          "libzmq does not find an endpoint of udp again: close the socket"
        ),
          cause: nil
      end
    end
  end
end
