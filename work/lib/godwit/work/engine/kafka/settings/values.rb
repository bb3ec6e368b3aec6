# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # Computes the values of {Properties} for one handle. A method returns nil for a property that
      # the handle does not get.
      # @private
      class Values
        QUEUED = 64 << 10 # most KiB that librdkafka queues for all partitions
        QUEUED_EACH = (1 << 10)..(16 << 10) # most KiB that librdkafka queues for one partition
        SOCKET = 10_000 # ms that a broker's reply may take
        HEARTBEAT = 1_000 # most ms between two heartbeats of a member
        READER = "_godwit.reader"
        IDLE = 5_000 # ms until a producer of transactions closes an unused connection
        FETCH_WAIT = 10 # ms that a broker waits for records before it replies

        # @param timeout [Numeric] seconds that a call waits for the brokers
        # @param user [Hash{String => String}] the user's properties
        # @param handle [Hash{Symbol => Object}] `id:` of a transactional producer; `group:`,
        #   `partitions:`, `client:` and `instance:` of a member; `fetch_wait:` of a reader, in ms
        def initialize(url, sasl, timeout, user, **handle)
          @url = url
          @sasl = sasl
          @timeout = timeout
          @properties = user
          @handle = handle
        end

        def id = @handle[:id]
        def instance = @handle[:instance]
        def brokers = @url.brokers
        def protocol = "#{"sasl_" if @sasl}#{@url.tls? ? "ssl" : "plaintext"}"
        def mechanism = @sasl
        def user = @url.user
        def secret = @url.secret
        def client = @handle[:client] || "godwit #{Process.pid}"
        def fetch_wait = (@handle.fetch(:fetch_wait, FETCH_WAIT) unless @handle[:group])
        def idle = (IDLE if id)
        def group = @handle[:group] || READER
        def queued_kbytes = (QUEUED / @handle.fetch(:partitions, 1)).clamp(QUEUED_EACH)
        def heartbeat = [HEARTBEAT, number("session.timeout.ms") / 3].min.clamp(1..)

        # librdkafka refuses these two time-outs if they are longer than a transaction's time-out.
        def message_timeout = [(@timeout * 1000).ceil, transaction].compact.min
        def socket_timeout = [SOCKET, transaction].compact.min

        private

        def transaction = id && number("transaction.timeout.ms")

        # @return [Integer] the user's value, or Work's if the user's is not a positive Integer
        def number(name)
          own = Properties[name].value
          value = Integer(@properties.fetch(name, own), exception: false)
          value&.positive? ? value : own
        end
      end
    end
  end
end
