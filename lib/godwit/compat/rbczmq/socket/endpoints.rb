# frozen_string_literal: true

module ZMQ
  class Socket
    PORTS = (49_152..65_535)
    private_constant :PORTS

    # @return [Integer] port of a tcp uri; 0 for another transport, and if the uri has port 0
    def bind(uri) = real_bind(resolved(uri))
    def connect(uri) = real_connect(resolved(uri))

    # Connects to every address that the DNS has for a service.
    # @return [self, nil] nil for a uri with a transport
    def connect_all(uri)
      if PROTO_REXP.match?(Arguments.string(uri))
        real_connect(uri)
        return
      end
      found = services(uri)
      found.empty? ? real_connect(uri) : found.each { |service| real_connect(address(service)) }
      self
    end

    # {#bind} without a DNS query.
    def real_bind(uri)
      usable!
      uri = Arguments.type(uri, String).dup.freeze
      translated do
        uri.match?(%r{\Atcp://.*:\*\z}) ? @godwit.bind(uri, ports: PORTS) : @godwit.bind(uri)
      end
      attached(BOUND, uri)
      trace { "bound \"#{uri}\"" }
      uri.match?(%r{\Atcp://.*:0\z}) ? 0 : Godwit::Endpoint.port(@godwit.last_endpoint) || 0
    end

    # {#connect} without a DNS query.
    def real_connect(uri)
      usable!
      uri = Arguments.type(uri, String).dup.freeze
      translated { @godwit.connect(uri) }
      attached(CONNECTED, uri)
      trace { "connected \"#{uri}\"" }
      true
    end

    def unbind(uri) = detach(uri) { |endpoint| @godwit.unbind(endpoint) }
    def disconnect(uri) = detach(uri) { |endpoint| @godwit.disconnect(endpoint) }

    private

    def attached(state, uri)
      @state = state
      @given << uri
      @resolved << @godwit.last_endpoint
      @endpoints << with_port(uri)
      choose_path
    end

    # Replaces a wildcard port by the port that the system chose.
    def with_port(uri)
      port = Godwit::Endpoint.port(@resolved.last) if uri.match?(%r{\Atcp://.*:[*0]\z})
      port ? "#{uri.delete_suffix("*").delete_suffix("0")}#{port}" : uri
    end

    def detach(uri)
      usable!
      Arguments.type(uri, String)
      index = @endpoints.rindex(uri) || @resolved.rindex(uri) || @given.rindex(uri)
      endpoint = index ? @resolved[index] : uri
      translated { yield endpoint }
      trace { "left \"#{uri}\"" }
      forget(endpoint)
      true
    end

    # Removes each entry of the endpoint: one unbind or disconnect has ended all of them.
    def forget(endpoint)
      @resolved.each_index.select { |index| @resolved[index] == endpoint }.reverse_each do |index|
        [@resolved, @endpoints, @given].each { |list| list.delete_at(index) }
      end
      @state = DISCONNECTED if @endpoints.empty?
      choose_path
    end

    def resolved(uri)
      return uri if !uri.is_a?(String) || PROTO_REXP.match?(uri)
      best = services(uri).min_by { |service| [service.priority, -service.weight] }
      best ? address(best) : uri
    rescue Resolv::ResolvError, Resolv::ResolvTimeout, SystemCallError
      uri
    end

    # The SRV records of "service.domain". No DNS query is made for any other uri, since the reply
    # may take long.
    def services(uri)
      service, domain = uri.split(".", 2)
      return [] if domain.nil? || !uri.match?(/\A[\w.-]+\z/)
      ZMQ.resolver.getresources("_#{service}._tcp.#{domain}", Resolv::DNS::Resource::IN::SRV)
    end

    def address(service) = "tcp://#{Resolv.getaddress(service.target.to_s)}:#{service.port}"
  end
end
