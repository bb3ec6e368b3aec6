# frozen_string_literal: true

module Godwit
  # The sockets, proxies and loggers of the main Ractor, for {Godwit.metrics}. The references are
  # weak: the garbage collector may collect each object.
  module Registry
    OBJECTS = WeakSet.new
    @lock = Mutex.new

    class << self
      # @return [Metrics] of the process; two threads' first calls get the same object
      def metrics = @lock.synchronize { @metrics ||= Metrics.new }

      def add(object)
        OBJECTS.add(object) if Runtime.main_ractor?
      end

      # Gives the metrics the counts of a closed socket.
      def closed(socket)
        @metrics&.closed(socket) if Runtime.main_ractor?
      end

      def to_a = OBJECTS.to_a
    end
  end
  private_constant :Registry

  # The counts of all sockets, proxies and loggers of this process, in the text form of Prometheus
  # ({file:docs/metrics.md}). Sockets of one type with the same endpoints are one series. Sockets of
  # other Ractors than the main one are not counted.
  #
  # Any thread or fiber may call this method; a trap handler cannot. A forked child counts anew.
  # @return [String] in UTF-8; its content type is "text/plain; version=0.0.4"
  # @see Socket::Counts#stats
  # @see Proxy#statistics
  # @see Logger#stats
  def self.metrics = Registry.metrics.to_s
end
