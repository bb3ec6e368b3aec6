# frozen_string_literal: true

require_relative "metrics/exposition"

module Godwit
  # Collects what {Godwit.metrics} shows. Sockets of one type with the same endpoints are one
  # series, which retains the counts of closed sockets.
  class Metrics
    # Most series of closed sockets. Further closed sockets share one series, {OTHERS}.
    MOST_CLOSED = 1_000
    OTHERS = "others"
    # With the counts of so many closed sockets in @waiting, {#closed} adds them up.
    MOST_WAITING = 1_000
    COUNTERS = %i[sent sent_bytes received received_bytes].freeze

    def initialize
      forget_parent
      ForkDetector::PER_PROCESS.add(self)
      native = Backend::IMPLEMENTATION
      native.stamp_messages if native.respond_to?(:stamp_messages)
    end

    def forget_parent
      @lock = Mutex.new
      @waiting = Thread::Queue.new # works in a trap handler, which may close a socket
      @seen = WeakSet.new # the closed sockets that are counted already
      @closed = Hash.new { |all, labels| all[labels] = [0] * COUNTERS.size }
    end

    def to_s
      @lock.synchronize do
        text = Exposition.new
        objects = Registry.to_a.group_by { |object| kind(object) }
        add_sockets(text, objects.fetch(:socket, []))
        objects.fetch(:proxy, []).each { |proxy| add_proxy(text, proxy) }
        objects.fetch(:logger, []).each { |logger| add_logger(text, logger) }
        text.to_s
      end
    end

    # Stores the counts of a closed socket.
    def closed(socket)
      return if @seen.include?(socket) || socket.forked?
      @seen.add(socket)
      @waiting << [labels(socket), socket.stats.to_a.first(COUNTERS.size)]
      return if @waiting.size < MOST_WAITING || !@lock.try_lock
      begin
        count_closed
      ensure
        @lock.unlock
      end
    rescue Error
      nil # the backend does not count messages
    end

    private

    def kind(object)
      case object
      when Socket then :socket
      when Proxy then :proxy
      else :logger
      end
    end

    def add_sockets(text, sockets)
      sockets.reject(&:forked?).each do |socket|
        next closed(socket) if socket.closed?
        labels = labels(socket)
        text.add(:sockets, labels, 1)
        stats = socket.stats
        COUNTERS.each { |name| text.add(name, labels, stats[name]) }
        text.add(:peers, labels, stats.peers)
        text.add(:last_activity, labels, stats.last_activity&.to_i)
      rescue Error
        next # the backend does not count messages
      end
      count_closed
      @closed.each do |labels, counts|
        COUNTERS.zip(counts) { |name, count| text.add(name, labels, count) }
      end
    end

    def count_closed
      until @waiting.empty?
        labels, counts = @waiting.pop(true)
        full = @closed.size >= MOST_CLOSED && !@closed.key?(labels)
        labels = {**labels, endpoint: OTHERS} if full
        @closed[labels] = @closed[labels].zip(counts).map(&:sum)
      end
    rescue ThreadError
      nil # another thread dequeued the last counts
    end

    def add_proxy(text, proxy)
      return if proxy.forked?
      statistics = proxy.statistics
      labels = {frontend: endpoints(proxy.frontend), backend: endpoints(proxy.backend)}
      %i[frontend backend].each do |side|
        statistics[side].each_pair do |name, count|
          text.add(:"proxy_#{name}", {**labels, side: side.to_s}, count)
        end
      end
      text.add(:proxy_dropped, labels, statistics.dropped)
    end

    def add_logger(text, handle)
      labels = {endpoint: shown(handle.settings.endpoint)}
      stats = handle.stats
      %i[queued spooled sent dropped].each do |name|
        text.add(:"logger_#{name}", labels, stats[name])
      end
    end

    def labels(socket) = {type: socket.type.to_s, endpoint: endpoints(socket)}
    def endpoints(socket) = shown(socket.endpoints.sort.join(", "))
    # Converts to UTF-8, since an ipc endpoint's path may have any bytes.
    def shown(endpoint) = Errors.without_credentials(Runtime.utf8(Runtime.text(endpoint)))
  end
  private_constant :Metrics
end
