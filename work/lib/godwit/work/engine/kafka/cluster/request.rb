# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # Requests to the cluster by librdkafka's administrative functions.
      # @private
      class Request
        AGAIN = 0.02 # seconds
        private_constant :AGAIN

        class << self
          # Pointers to an Array in C.
          # @param pointers [Array<FFI::Pointer>]
          def array(pointers)
            ::FFI::MemoryPointer.new(:pointer, pointers.size).write_array_of_pointer(pointers)
          end

          # Calls a function whose last parameter takes the size of the Array that it returns.
          # @param name [Symbol] of {Functions}
          # @param arguments [Array] without that parameter
          # @return [Array<FFI::Pointer>]
          def list(name, *arguments)
            count = ::FFI::MemoryPointer.new(:size_t)
            first = Functions.__send__(name, *arguments, count)
            size = count.read(:size_t)
            size.zero? ? [] : first.read_array_of_pointer(size)
          end
        end

        # @param timeout [Numeric] seconds for an answer
        def initialize(handle, timeout)
          @handle = handle
          @timeout = timeout
        end

        # Sends a request, and waits for its answer. A broker that has just started may refuse it:
        # then it is sent again.
        # @param (see #send)
        def call(*arguments, **options, &send)
          start = Timeout.now
          begin
            self.send(*arguments, **options, &send).wait(@timeout + Handle::SLICE)
          rescue BrokerError => error
            raise if !error.retriable? || error.code == Errors::TIMED_OUT ||
              Timeout.left(@timeout, start).zero?
            sleep AGAIN
            retry
          end
        end

        # @param operation [Symbol] for errors
        # @param read [#call] gets the event of the answer, and gives the value
        # @param resource [String, nil] for errors
        # @param options [Hash{Symbol => Integer}] names of `AdminOptions_set_…`, and values
        # @yieldparam native [FFI::Pointer] the handle
        # @yieldparam queue [FFI::Pointer] for the answer; the block sends
        def send(operation, read, resource: nil, **options)
          queue = Functions.queue_new(@handle.pointer)
          answer = Answer.new(@handle, queue, operation, resource) { |event| read.call(event) }
          with_options(options) { |native| yield @handle.pointer, native, queue }
          answer
        rescue
          answer&.close
          raise
        end

        private

        def with_options(options)
          native = Functions.AdminOptions_new(@handle.pointer, 0) # for any request
          text = ::FFI::MemoryPointer.new(256)
          Functions.AdminOptions_set_request_timeout(native, (@timeout * 1000).ceil, text, 256)
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
