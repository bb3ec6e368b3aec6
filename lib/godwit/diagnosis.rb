# frozen_string_literal: true

require_relative "peer_counter"
%w[words link open_connections peek probe refusals].each do |file|
  require_relative "diagnosis/#{file}"
end

module Godwit
  # Finds out why a socket receives or sends nothing. A Diagnosis reduces the events of libzmq's
  # monitor to the last {Finding} of each endpoint. Its users are waits that have lasted
  # {Constants::SLOW_WAIT} ms, `wait_connected`, and the commands that connect.
  #
  # A Diagnosis that is made before `connect` and `bind` misses no event. A later Diagnosis reads
  # the socket's connections from the kernel. If the socket has no connection, the Diagnosis
  # connects a second socket, a {Probe}, to learn the reason.
  #
  # **Threads**: any thread may call a Diagnosis. In a forked child it does nothing.
  class Diagnosis
    # A diagnosis that was made after `connect` waits so many seconds for an event or a connection
    # before it probes. It waits longer if libzmq may pause longer between two attempts to connect.
    PATIENCE = 0.08
    # Transports of which libzmq's monitor reports no connection.
    QUIET = /\A(inproc|udp|e?pgm|norm):/
    # The most endpoints that a diagnosis probes at a time, and the most probes of one endpoint.
    PROBES = 3
    TRIES = 3
    # The fraction of the process's descriptors that a diagnosis leaves free, since libzmq aborts
    # when none is free.
    FREE = 0.25
    LIMIT = 1000 # most unread events that the monitor stores

    # Why a socket receives or sends nothing: a `reason` for programs, and for people its `cause` in
    # a few words and a `text` that ends with the fix. `endpoint` is the endpoint that the reason
    # concerns; nil: all endpoints of the socket.
    Finding = Struct.new(:reason, :endpoint, :cause, :text) do
      def to_s = text
    end

    # @param probes [Boolean] whether the diagnosis may connect second sockets
    def initialize(socket, probes: true, limit: LIMIT)
      @socket = socket
      @probing = probes
      @probes = []
      @tries = Hash.new(0) # endpoint => number of probes that were started
      @lock = Mutex.new
      @opened = Timeout.now
      reset
      @late = !socket.endpoints.empty?
      @monitor = Monitor.new(socket, limit: limit) if room?
    end

    # Forgets all events: the caller has recreated libzmq's socket, so all connections are new.
    def reset
      @late = false
      @links = {}
      @heard = {} # descriptors of the open connections that events reported
      @counter = PeerCounter.new(@socket.context.io_threads)
      @started = Timeout.now
      nil
    end

    # Reads the events that have arrived. Never waits.
    def update
      monitor = @monitor # `close` in another thread may set @monitor to nil
      return self unless monitor && @lock.try_lock
      begin
        while (event = monitor.recv_nonblock(exception: false)) != :wait_readable
          record(event)
        end
        probe
      ensure
        @lock.unlock
      end
      self
    rescue ClosedError, ContextTerminatedError, ForkedError
      self
    end

    # @return [Integer, nil] known number of connections with a complete handshake; nil: unknown
    def peers
      heard = @counter.established
      return heard if @probes.any?(&:open?)
      missed = missed_peers
      missed ? heard + missed : (heard if heard.positive?)
    end

    def connected? = peers.to_i.positive?

    # Returns the Finding of the events that {#update} has read, or nil. `operation` is the method
    # that waits: a send waits for room in a queue, all others for a message.
    def finding(operation = nil)
      count = peers
      sends = operation.to_s.start_with?("send")
      return connected(count, sends) if count&.positive?
      # "No peer" is the reason only of a bound socket. A connecting socket has more exact reasons.
      failed || probed || pending ||
        (Words.no_peer(last_loss) if @monitor && count && @socket.binds?)
    end

    def failed_link = @links.each_value.select(&:failure).max_by(&:failed_at)

    # Closes the probes' sockets. Their findings remain, and a later wait may probe again.
    def end_probes
      @probes.each(&:close)
      @probes.select!(&:finding)
    end

    # Ends the diagnosis and drops the probes with their findings, since the socket may be closed.
    def close
      @probes.each(&:close)
      @probes.clear
      @monitor&.close
      @monitor = nil
    rescue ForkedError
      nil
    end

    private

    # @return [Boolean] whether enough descriptors are free: the kernel gives the lowest free number
    def room?
      limit, = Process.getrlimit(Process::RLIMIT_NOFILE)
      File.open(File::NULL) { |file| file.fileno < limit * (1 - FREE) }
    rescue SystemCallError, NotImplementedError
      false
    end

    def record(event)
      case event.name
      when :connected, :accepted then @heard[event.fd] = true
      when :disconnected then missed = !@heard.delete(event.fd) && @late
      end
      @counter.record(event.name, event.fd) unless missed
      link(event.endpoint)&.record(event, Timeout.now)
    end

    # libzmq names a connection by its endpoint, or, with drafts, by its resolved address.
    def link(name)
      known = @socket.endpoints
      name = known.first if !known.include?(name) && known.size == 1
      return if name.nil? || name.empty?
      @links[name] ||= Link.new(name, @socket.bound_to?(name))
    end

    # @return [Array<Array>] of each endpoint without an event: its name, whether it is bound
    def silent_links
      sides(@socket.endpoints.uniq.reject { |name| @links[name]&.heard? })
    end

    def sides(names) = names.map { |name| [name, @socket.bound_to?(name)] }

    def connected(count, sends)
      since = @links.each_value.filter_map(&:since).min if count == @counter.established
      Words.connected(@socket, count, sends, since && Timeout.now - since,
        Timeout.now - @started)
    end

    # @return [Integer, nil] number of peers that no event reported; nil: unknown
    def missed_peers
      endpoints = @socket.endpoints
      return (0 if endpoints.grep(QUIET).empty?) unless @late
      handshakes(sides(endpoints))&.count(true)
    end

    # Returns {OpenConnections.handshakes} for the connections that no event reported.
    def handshakes(links = silent_links)
      return if @socket.socks_proxy # the kernel knows only the proxy's address
      OpenConnections.handshakes(links, @socket.mechanism, @heard)
    end

    # @return [Finding, nil] the finding that a peer does not answer the handshake
    def pending
      link = @links.each_value.find { |one| one.phase == :handshake }
      silent = (@late && @probes.empty?) ? silent_links : []
      link ||= Link.new(*silent.first) if silent.any? && handshakes&.include?(false)
      Words.pending(@socket, link.endpoint, link.bound?) if link
    end

    def failed
      link = failed_link or return
      Words.failure(@socket, link, @probes.find { |one| one.endpoint == link.endpoint }&.peek)
    end

    def last_loss
      lost = @links.each_value.filter_map(&:lost).max
      lost && Timeout.now - lost
    end

    # Probes the endpoints of `connect` that have no event and no connection, or whose event is
    # vague: the peer's greeting may tell the reason.
    def probe
      return unless @probing
      (given_up + unexplained).each do |name|
        next if @tries[name] >= TRIES || @probes.any? { |probe| probe.endpoint == name }
        next if @probes.size >= PROBES
        @tries[name] += 1
        probe = Probe.start(@socket, name)
        @probes << probe if probe
      end
      @probes.each(&:update)
    end

    # @return [Array<String>] endpoints of `connect` without an event and without a connection
    def given_up
      return [] if !@late || Timeout.now - @opened < patience || @counter.open.positive?
      names = silent_links.filter_map { |name, bound| name unless bound }
      (names.any? && handshakes&.empty?) ? names : []
    end

    # libzmq pauses up to twice the reconnect interval between two tries. It reports no event then.
    def patience
      longest = [@socket.reconnect_interval, @socket.reconnect_interval_max].compact.max
      [PATIENCE, 2 * (longest || 0)].max
    end

    # @return [Array<String>] endpoints whose failure the peer's greeting can explain
    def unexplained
      @links.each_value.filter_map { |link| link.endpoint if link.unexplained? }
    end

    def probed
      @probes.each do |probe|
        finding = probe.finding
        return finding if finding
      end
      nil
    end
  end
  private_constant :Diagnosis
end
