# frozen_string_literal: true

module Godwit
  class Diagnosis
    # Warns of clients that a server refuses in the handshake, once a minute for each client's
    # address. A thread listens to the server's socket until the socket is closed.
    class Refusals
      EVENTS = [
        :accepted, :disconnected, :handshake_failed_no_detail, :handshake_failed_protocol,
        :handshake_failed_auth
      ].freeze
      PERIOD = 60 # seconds between two warnings about an address
      ADDRESSES = 1000 # most addresses whose last warning is remembered

      def self.guards?(socket)
        return false unless socket.binds?
        socket.plain_server || socket.curve_server || !socket.zap_domain.to_s.empty?
      end

      def self.start(socket)
        monitor = Monitor.new(socket, *EVENTS)
        Worker.new { new(socket).listen(monitor) }.name = "godwit refusals"
      end

      def initialize(socket)
        @socket = socket
        @clients = {} # descriptor => IP address
        @failed = []
        @warned = {}
      end

      def listen(monitor)
        monitor.each { |event| record(event) }
      ensure
        monitor.close unless monitor.socket.forked?
      end

      # The event of a failed handshake does not name its connection; the :disconnected that follows
      # does. A :disconnected without a failure before it comes from a client that was not refused.
      def record(event)
        case event.name
        when :accepted then @clients[event.fd] = address_of(event)
        when :disconnected
          address = @clients.delete(event.fd)
          warn_of(@failed.shift, address) if @failed.any?
        when :handshake_failed_no_detail
          # If no authenticator runs, libzmq leaves the connection open: no :disconnected follows.
          warn_of(event, nil) if event.value == Errno::EFAULT::Errno
        else @failed << event
        end
      end

      private

      # A libzmq without drafts does not report the peer's address. The kernel has the address while
      # the connection is open.
      def address_of(event)
        remote = event.remote_endpoint.to_s
        return OpenConnections.peer(event.fd) unless remote.start_with?("tcp:")
        OpenConnections.host_of(remote)
      end

      def warn_of(event, address)
        now = Timeout.now
        return if @warned[address]&.>(now - PERIOD) || !Godwit.warn_refused
        @warned.clear if @warned.size >= ADDRESSES
        @warned[address] = now
        link = Link.new(event.endpoint, true)
        link.record(event, now)
        warn "godwit: #{@socket.type} refused a client#{" at #{address}" if address}: " \
          "#{Words.failure(@socket, link, nil).text}"
      rescue Error
        nil # another thread has closed the socket
      end
    end
  end
end
