# frozen_string_literal: true

module ZMQ
  class Socket
    PORTS = (49_152..65_535)
    private_constant :PORTS

    # @return [Integer] port of tcp; 0 for the others, and where 0 was asked for
    def bind(uri)
      real_bind(resolved(uri))
    end

    # @return [true]
    def connect(uri)
      real_connect(resolved(uri))
    end

    # Connects to all that the DNS has for a service.
    # @return [self, nil] nil for a uri with a protocol
    def connect_all(uri)
      if PROTO_REXP.match?(Arguments.string(uri))
        real_connect(uri)
        return
      end
      found = services(uri)
      found.empty? ? real_connect(uri) : found.each { |service| real_connect(address(service)) }
      self
    end

    # {#bind}, with no look into the DNS.
    def real_bind(uri)
      ready_to_attach
      uri = Arguments.type(uri, String).dup.freeze
      option do
        uri.match?(%r{\Atcp://.*:\*\z}) ? @inner.bind(uri, ports: PORTS) : @inner.bind(uri)
      end
      attached(BOUND, uri)
      trace { "bound \"#{uri}\"" }
      uri.match?(%r{\Atcp://.*:0\z}) ? 0 : Godwit::Endpoint.port(@inner.last_endpoint) || 0
    end

    # {#connect}, with no look into the DNS.
    def real_connect(uri)
      ready_to_attach
      uri = Arguments.type(uri, String).dup.freeze
      option { @inner.connect(uri) }
      attached(CONNECTED, uri)
      trace { "connected \"#{uri}\"" }
      true
    end

    # @return [true]
    def unbind(uri)
      detach(uri) { |endpoint| @inner.unbind(endpoint) }
    end

    # @return [true]
    def disconnect(uri)
      detach(uri) { |endpoint| @inner.disconnect(endpoint) }
    end

    private

    def ready_to_attach
      alive!
      own_thread!
      own_process!
    end

    # libzmq knows a wildcard by what it became.
    def attached(state, uri)
      @state = state
      @given << uri
      @places << @inner.last_endpoint
      @endpoints << with_port(uri)
      look
    end

    # A port that the system chose stands for the wildcard.
    def with_port(uri)
      port = Godwit::Endpoint.port(@places.last) if uri.match?(%r{\Atcp://.*:[*0]\z})
      port ? "#{uri.delete_suffix("*").delete_suffix("0")}#{port}" : uri
    end

    def detach(uri)
      ready_to_attach
      Arguments.type(uri, String)
      index = @endpoints.rindex(uri) || @places.rindex(uri) || @given.rindex(uri)
      place = index ? @places[index] : uri
      option { yield place }
      trace { "left \"#{uri}\"" }
      forget(place)
      true
    end

    # Godwit ends those that are alike at once.
    def forget(place)
      @places.each_index.select { |index| @places[index] == place }.reverse_each do |index|
        [@places, @endpoints, @given].each { |list| list.delete_at(index) }
      end
      @state = DISCONNECTED if @endpoints.empty?
      look
    end

    def resolved(uri)
      return uri if !uri.is_a?(String) || PROTO_REXP.match?(uri)
      best = services(uri).min_by { |service| [service.priority, -service.weight] }
      best ? address(best) : uri
    rescue Resolv::ResolvError, Resolv::ResolvTimeout, SystemCallError
      uri
    end

    # The SRV records of "service.domain". What cannot be such a name is not asked for: an answer
    # may take long.
    def services(uri)
      service, domain = uri.split(".", 2)
      return [] if domain.nil? || !uri.match?(/\A[\w.-]+\z/)
      ZMQ.resolver.getresources("_#{service}._tcp.#{domain}", Resolv::DNS::Resource::IN::SRV)
    end

    def address(service)
      "tcp://#{Resolv.getaddress(service.target.to_s)}:#{service.port}"
    end
  end
end
