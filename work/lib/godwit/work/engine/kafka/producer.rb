# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # Writes records, and waits until all replicas that are in sync have them.
      #
      # **Threads**: any; their records share batches.
      # @private
      class Producer
        ALL_DOWN = -187

        # @param properties [Hash{String => String}]
        # @param timeout [Numeric] seconds that a call waits for the brokers
        def initialize(properties, timeout)
          @timeout = timeout
          @deliveries = Native::Deliveries.new
          @handle = Handle.new(Handle::PRODUCER, properties) do |conf|
            @deliveries.attach(conf.address)
          end
          @deliveries.bind(@handle.address)
          @handle.cause = -> { problem&.last }
          @topics = {}
          @lock = Mutex.new
        end

        attr_reader :handle

        # @param batches [Array<Array>] topic, partition, bytes of a {Block}, count, and perhaps
        #   the times of its records, as {Block} has them
        # @return [Array<Array(Array<Integer>, Array<Integer>)>] for each batch the offsets and the
        #   times of its records
        # @raise [Error] the records may have been written
        def append(batches)
          wanted = batches.map { |topic, *rest| [native(topic.name).address, *rest] }
          delivery = deliver(wanted)
          check(delivery, batches)
          delivery.split(counts(batches))
        end

        # @return [Boolean] whether a fatal error has ended this producer
        def ended? = !@handle.fatal.nil?

        # Lets the waiting calls return at once: the records that they wrote may be lost.
        def abandon = @deliveries.abandon

        # The last error of the connections, except "all brokers are down", which names no cause.
        # @return [Array(Integer, String), nil] code and text of the error
        def problem
          found = @deliveries.errors.reject { |code, _| code == ALL_DOWN }
          @problem = found.last || @problem
        end

        # A second call waits for the first: delivery reports arrive until the handle has ended.
        def close
          abandon # no call may use the handle from now on
          @lock.synchronize do
            @topics.each_value { |one| Functions.topic_destroy(one) }
            @topics.clear
            @deliveries.release if @handle.close
          end
          nil
        end

        private

        def counts(batches) = batches.map { |_, _, _, count| count }

        # @raise [ClosedError] nothing was sent
        def deliver(wanted)
          @deliveries.produce(wanted, @timeout + Handle::SLICE)
        rescue RuntimeError
          @handle.pointer # `pointer` raises if another thread has closed the handle
          raise
        end

        def native(name)
          @topics[name] || @lock.synchronize do
            @topics[name] ||= Functions.topic_new(@handle.pointer, name, nil)
          end
        end

        def check(delivery, batches)
          lost = delivery.failed + delivery.missing
          return if lost.zero?
          loss = "#{lost} of #{counts(batches).sum} records have no acknowledgement, and may " \
            "have been written"
          names = batches.map { |topic, *| topic.name }.uniq.join(", ")
          # For a lost record librdkafka says only "fatal", even if the user lacks a right.
          cause = @handle.fatal&.then { |code, text| error(code, text, loss, names) }
          raise cause if cause.is_a?(AccessError)
          code = delivery.code.zero? ? Errors::TIMED_OUT : delivery.code
          raise error(code, problem&.last, loss, names)
        end

        def error(code, cause, loss, names)
          Errors.of(code, :produce, [cause, loss].compact.join("; "), resource: names)
        end
      end
    end
  end
end
