# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # The answer to a {Request}, which may come later. Of several brokers that got the request
      # one knows the answer, and the others refuse the request.
      # @private
      class Answer
        # @param queue [FFI::Pointer] for the answer, which this object destroys
        # @param operation [Symbol] for errors
        # @param resource [String, nil] for errors
        # @param brokers [Integer] how many brokers got the request
        # @yieldreturn [Object] the answer's value
        def initialize(handle, queue, operation, resource, brokers, &read)
          @handle = handle
          @queue = queue
          @operation = operation
          @resource = resource
          @brokers = brokers
          @read = read
        end

        # @param seconds [Numeric] to wait for the answer
        # @return [Object, nil] the answer's value; nil: the answer has not come
        # @raise [Error] of the last broker that could answer
        def receive(seconds = 0)
          start = Timeout.now
          begin
            @handle.event(@queue, Timeout.remaining(seconds, start)) do |event|
              code = Functions.event_error(event)
              next @read.call(event) if code.zero?
              raise error(code, Functions.event_error_string(event))
            end
          rescue BrokerError => error
            raise if !error.retriable? || (@brokers -= 1) < 1
            retry
          end
        end

        # Waits for the answer, and closes this object.
        # @return [Object] the answer's value
        # @raise [Error] also when the answer has not come in time
        def wait(seconds)
          receive(seconds) || raise(error(Errors::TIMED_OUT, @handle.cause))
        ensure
          close
        end

        def close
          Functions.queue_destroy(@queue) if @queue
          @queue = nil
        end

        private

        def error(code, text) = Errors.of(code, @operation, text, resource: @resource)
      end
    end
  end
end
