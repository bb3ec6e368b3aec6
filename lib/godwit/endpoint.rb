# frozen_string_literal: true

module Godwit
  # Checks endpoints before libzmq gets them: libzmq reduces ports modulo 65536, and its only error
  # text is "Invalid argument".
  # @private
  module Endpoint
    TRANSPORTS = %w[tcp ipc inproc udp pgm epgm norm tipc vmci vsock hyperv ws wss].freeze
    # Transports that every libzmq has; zmq_has reports the others.
    ALWAYS = %w[tcp inproc].freeze
    WITH_PORT = %w[tcp ws wss udp].freeze
    PORTS = (0..65_535)
    RESOLVED_PORT = %w[tcp ws wss].freeze
    DIGITS = "0123456789"
    LETTERS = "abcdefghijklmnopqrstuvwxyz"
    # The endpoint of an authenticator (RFC 27), and the socket types that may bind it.
    ZAP = "inproc://zeromq.zap.01"
    ZAP_TYPES = %i[REP ROUTER SERVER].freeze

    def self.check(endpoint, operation)
      unless endpoint.is_a?(String)
        raise Errors.of(EndpointTypeError, operation,
          "an endpoint is a String such as \"tcp://127.0.0.1:5555\": got #{endpoint.class}")
      end
      endpoint = endpoint.b # the path of an ipc endpoint may have any bytes
      transport, address = endpoint.split("://", 2)
      if address.nil? || !only?(LETTERS, transport) || endpoint.include?("\0")
        refuse(operation, endpoint, "an endpoint is transport://address, such as " \
          "tcp://127.0.0.1:5555, ipc:///tmp/name or inproc://name")
      end
      check_transport(transport, operation, endpoint)
      refuse(operation, endpoint, "nothing stands behind #{transport}://") if address.empty?
      check_port(transport, address, operation, endpoint) if WITH_PORT.include?(transport)
      endpoint
    end

    # Replaces an empty host by 127.0.0.1, for the logger and the command line, which bind no other
    # interface by default. In "tcp://source;host:port" the host follows the semicolon.
    def self.with_host(endpoint)
      transport, found, address = endpoint.partition("://")
      return endpoint if found.empty? || !RESOLVED_PORT.include?(transport)
      host = address.start_with?(":") ? 0 : address.index(";:")&.succ
      return endpoint unless host && address[host + 1] && "#{DIGITS}*".include?(address[host + 1])
      "#{transport}://#{address[0, host]}127.0.0.1#{address[host..]}"
    end

    def self.check_any(endpoints, operation)
      return unless endpoints.empty?
      raise Errors.of(ArgumentValueError, operation,
        "#{operation} needs an endpoint, such as \"tcp://127.0.0.1:5555\"")
    end

    def self.port(endpoint)
      transport, address = endpoint.b.split("://", 2)
      return unless address && RESOLVED_PORT.include?(transport)
      port = address.split("/", 2).first.to_s.rpartition(":").last
      port.to_i if address.include?(":") && only?(DIGITS, port)
    end

    def self.any_port?(endpoint)
      transport, address = endpoint.split("://", 2)
      RESOLVED_PORT.include?(transport) && address.include?(":*")
    end

    # @return [Boolean] whether the text is not empty and has only characters of `characters`
    def self.only?(characters, text)
      !text.empty? && text.each_char.all? { |one| characters.include?(one) }
    end

    def self.transports = TRANSPORTS.select { |name| supported?(name) }

    # zmq_has does not report udp, so {check_transport} accepts udp in any case.
    def self.supported?(transport)
      ALWAYS.include?(transport) || Godwit.has?((transport == "epgm") ? "pgm" : transport.to_s)
    end

    def self.check_transport(transport, operation, endpoint)
      return if TRANSPORTS.include?(transport) && (supported?(transport) || transport == "udp")
      known = TRANSPORTS.include?(transport)
      why = known ? "this libzmq was built without" : "no transport is called"
      raise Errors.build(ProtocolError, operation, endpoint,
        "#{why} #{transport}; here are #{transports.join(", ")}")
    end

    def self.check_port(transport, address, operation, endpoint)
      address = address.split(";", 2).last # before a ";" stands the source address
      address = address.split("/", 2).first.to_s if transport.start_with?("ws")
      host, colon, port = address.rpartition(":")
      binds = %i[bind unbind].include?(operation)
      problem =
        if colon.empty? || port.empty?
          host = address.empty? ? "127.0.0.1" : address.delete_suffix(":")
          "a port is missing: #{transport}://#{host}:5555"
        else
          host_problem(transport, host, port, binds) ||
            port_problem(transport, port, binds, operation)
        end
      refuse(operation, endpoint, problem) if problem
    end

    def self.host_problem(transport, host, port, binds)
      if host.empty?
        everywhere = ", or * for every interface" if binds
        "a host is missing: #{transport}://127.0.0.1:#{port}#{everywhere}"
      elsif host.include?(":") && !(host.start_with?("[") && host.end_with?("]"))
        # libzmq cannot resolve "[fe80::1]%eth0", a zone behind the bracket, and reports no error.
        "an IPv6 address stands in brackets: #{transport}://[#{host.delete("[]")}]:#{port}"
      elsif host == "*" && !binds
        "only bind takes * for a host: name the machine to connect to"
      end
    end

    def self.port_problem(transport, port, binds, operation)
      number = (port.size < 16) ? port.to_i : PORTS.end + 1 # mruby's to_i raises for more digits
      if transport == "udp" && (port == "*" || number.zero?)
        "udp needs the number of a port: libzmq does not tell which one it took"
      elsif port == "*"
        "only bind takes * for a port" unless binds
      elsif !only?(DIGITS, port) || !PORTS.cover?(number) ||
          (operation == :connect && number.zero?)
        "a port is a number from #{binds ? "0 to 65535, or * for any free one" : "1 to 65535"}"
      end
    end

    # @return [Boolean] whether the host or the source is an address that only IPv6 reaches
    def self.ipv6?(endpoint)
      transport, address = endpoint.b.split("://", 2)
      WITH_PORT.include?(transport) && address.split(";").any? do |one|
        host = one.partition("]").first
        host.start_with?("[") && host.include?(":") && !mapped?(host)
      end
    end

    # Tells whether the host is an IPv4 address in IPv6 form, such as [::ffff:127.0.0.1].
    def self.mapped?(host)
      return false unless host[0, 8].downcase == "[::ffff:"
      rest = host[8..]
      rest.include?(".") ? !rest.include?(":") : rest.count(":") == 1
    end

    # Adds `ipv6: true` if an endpoint has an IPv6 address, for the commands and measurements.
    def self.with_ipv6(endpoints, options)
      return options if endpoints.none? { |endpoint| ipv6?(endpoint) }
      {ipv6: true, **options}
    end

    # libzmq would delete any file at an ipc endpoint's path, even the socket of a live process.
    # @raise [AddressInUseError] unless the path is free, or has a socket of this process or of a
    #   process that has ended
    def self.check_path(endpoint)
      transport, path = endpoint.b.split("://", 2)
      return if transport != "ipc" || path.start_with?("@") || path == "*"
      if (what = kind_of_file(path))
        raise Errors.build(AddressInUseError, :bind, endpoint, "the path holds #{what}, and bind " \
          "replaces a socket alone: use another path, or remove it")
      end
      return unless File.socket?(path) && Runtime.bound_elsewhere?(path)
      raise Errors.build(AddressInUseError, :bind, endpoint,
        "a socket of another process is bound there: end that process, or use another path")
    end

    # @return [String, nil] what is at the path; nil: nothing, or a socket
    def self.kind_of_file(path)
      if File.symlink?(path) then "a symbolic link"
      elsif File.directory?(path) then "a folder"
      elsif File.exist?(path) && !File.socket?(path) then "a file that is no socket"
      end
    end

    # libzmq would abort the process for a wrong descriptor of the option `use_fd`.
    # @raise [OptionError] unless `number` is a listening stream socket of the endpoint's family
    def self.check_descriptor(number, endpoint)
      return if endpoint.start_with?("inproc:")
      unix = endpoint.start_with?("ipc:")
      problem = Backend::IMPLEMENTATION.descriptor_problem(number, unix) or return
      raise OptionError.new("bind #{endpoint}: option use_fd takes the descriptor of a stream " \
        "socket that is bound and listens (such as TCPServer#fileno), for tcp:// of TCP, for " \
        "ipc:// of a UNIX socket: #{number} #{problem}", operation: :bind, endpoint: endpoint)
    end

    def self.refuse(operation, endpoint, hint)
      raise Errors.build(EndpointError, operation, endpoint, hint)
    end
  end
end
