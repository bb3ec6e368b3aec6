# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # Requests to the cluster by librdkafka's administrative functions.
      # @private
      class Request
        AGAIN = 0.02 # seconds before a refused request is sent again
        ANY = -> { [nil] } # librdkafka chooses the broker

        class << self
          # @param pointers [Array<FFI::Pointer>]
          # @return [Array(FFI::Pointer, Integer)] an array in C and its size, as arguments
          def array(pointers)
            array = ::FFI::MemoryPointer.new(:pointer, pointers.size)
            [array.write_array_of_pointer(pointers), pointers.size]
          end

          # Calls a function whose last parameter gets the size of the Array that it returns.
          # @param name [Symbol] of {Functions}
          # @return [Array<FFI::Pointer>]
          def list(name, *arguments)
            count = ::FFI::MemoryPointer.new(:size_t)
            first = Functions.__send__(name, *arguments, count)
            size = count.read(:size_t)
            size.zero? ? [] : first.read_array_of_pointer(size)
          end
        end

        # @param timeout [Numeric] seconds for an answer
        # @param patience [Numeric] seconds after which {#call} sends an unanswered request again
        def initialize(handle, timeout, patience: timeout)
          @handle = handle
          @timeout = timeout
          @patience = patience
        end

        # Sends a request, and waits for its answer. A broker that has just started may refuse the
        # request: then this method sends it again.
        # @param (see #send)
        # @yield (see #send)
        def call(*arguments, **options, &read)
          start = Timeout.now
          begin
            limit = [@patience, Timeout.remaining(@timeout, start)].min
            send(*arguments, **options, &read).wait(limit + Handle::SLICE)
          rescue BrokerError => error
            raise if !error.retriable? || Timeout.remaining(@timeout, start).zero?
            sleep AGAIN
            retry
          end
        end

        # @param operation [Symbol] for errors
        # @param function [Symbol] of {Functions}, such as :CreateTopics
        # @param results [Symbol] the name of the answer's Array in librdkafka, such as :topics
        # @param arguments [Array] of the function, between the handle and the options
        # @param resource [String, nil] for errors
        # @param brokers [#call] returns ids of the brokers that all get the request
        # @param options [Hash{Symbol => Integer}] names of `AdminOptions_set_…`, and values
        # @yieldparam results [Array<FFI::Pointer>] the Array of a broker's answer
        # @yieldreturn [Object] the value
        # @return [Answer]
        def send(operation, function, results, *arguments, resource: nil, brokers: ANY, **options)
          brokers = brokers.call
          queue = Functions.queue_new(@handle.pointer)
          answer = Answer.new(@handle, queue, operation, resource, brokers.size) do |event|
            result = Functions.__send__(:"event_#{function}_result", event)
            yield Request.list(:"#{function}_result_#{results}", result)
          end
          brokers.each do |broker|
            with_options(broker, options) do |native|
              Functions.__send__(function, @handle.pointer, *arguments, native, queue)
            end
          end
          answer
        rescue
          answer&.close
          raise
        end

        private

        def with_options(broker, options)
          native = Functions.AdminOptions_new(@handle.pointer, 0) # 0: options for any request
          text = ::FFI::MemoryPointer.new(256)
          Functions.AdminOptions_set_request_timeout(native, (@patience * 1000).ceil, text, 256)
          Functions.AdminOptions_set_broker(native, broker, text, 256) if broker
          options.each do |name, value|
            Errors.check(Functions.__send__(:"AdminOptions_set_#{name}", native, value), :options)
          end
          yield native
        ensure
          Functions.AdminOptions_destroy(native) if native
        end
      end
    end
  end
end
