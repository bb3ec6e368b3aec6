# frozen_string_literal: true

require "godwit/fork_detector"

module Godwit
  module Work
    module Kafka
      # A client of librdkafka: its threads talk to the brokers.
      #
      # **Threads**: any. **Fork**: a child must not use it: its threads are in the parent.
      # @private
      class Handle
        PRODUCER = 0
        CONSUMER = 1
        ERROR = 8 # librdkafka's number for the event of an error that no call reports
        NO_CLOSE = 8 # a flag: destroy does not leave the group
        SLICE = 0.5 # most seconds that a call of librdkafka waits
        SHORT = 0.1 # most seconds that a call waits if the end of a runner interrupts it
        TEXT = 512 # most bytes of an error's text

        # Releases a queue, and ends its writes to a pipe: librdkafka's threads may keep the queue,
        # and would later write to another file that gets the pipe's descriptor.
        def self.close_queue(queue)
          Functions.queue_io_event_enable(queue, -1, nil, 0)
          Functions.queue_destroy(queue)
        end

        # @param kind [Integer] PRODUCER or CONSUMER
        # @param properties [Hash{String => String}]
        # @yieldparam conf [FFI::Pointer] the configuration, before the handle is made
        # @raise [ArgumentValueError] for properties that librdkafka refuses
        def initialize(kind, properties)
          Functions.load
          conf = Configuration.make(properties)
          yield conf if block_given?
          @forks = ForkDetector::COUNT[0]
          @calls = 0
          @lock = Mutex.new
          @ended = ConditionVariable.new
          @pointer = make(kind, conf)
        end

        def pointer
          if @forks != ForkDetector::COUNT[0]
            raise Godwit::Errors.of(ForkedError, :kafka, "this process has forked after it " \
              "connected to Kafka: call Godwit::Work.connect in the child")
          end
          @pointer || raise(ClosedError, "the connection to Kafka was closed: connect again")
        end

        # @return [Integer] the handle's address, for {Native}
        def address = pointer.address

        def closed? = @pointer.nil?

        # @return [Array(Integer, String), nil] code and text of the error after which an idempotent
        #   producer writes no more; nil after {#close}
        def fatal
          text = ::FFI::MemoryPointer.new(TEXT)
          code = wait(:fatal_error, pointer, text, TEXT)
          [code, text.read_string] unless code.zero?
        rescue ClosedError
          nil
        end

        # Calls a function of librdkafka that waits. {#close} waits until the function has returned.
        # @param name [Symbol] of {Functions}
        # @return [Object] the function's value
        def wait(name, *arguments)
          @lock.synchronize { pointer && @calls += 1 }
          begin
            Functions.__send__(name, *arguments)
          ensure
            @lock.synchronize { @ended.broadcast if (@calls -= 1).zero? }
          end
        end

        # Ends the client's threads. Records that wait to be sent are lost.
        # @return [Boolean] whether this call has ended them
        def close
          return false if @forks != ForkDetector::COUNT[0]
          pointer = @lock.synchronize do
            found, @pointer = @pointer, nil
            @ended.wait(@lock) while @calls > 0
            found
          end
          Functions.destroy_flags(pointer, NO_CLOSE) if pointer
          !pointer.nil?
        end

        # @return [#call] returns the {#cause}; for a handle whose main queue another object reads
        attr_writer :cause

        # @return [String, nil] the last error of the connection
        def cause
          return @cause.call if @cause.respond_to?(:call)
          queue = Functions.queue_get_main(pointer)
          nil while event(queue, 0) { |event| @cause = Functions.event_error_string(event) }
          @cause
        ensure
          Functions.queue_destroy(queue) if queue
        end

        # Forgets the client, and lets its threads run: while a consumer cannot leave its group,
        # librdkafka's `destroy` waits for ever.
        def forget = @lock.synchronize { @pointer = nil }

        # @yieldparam queue [FFI::Pointer] a new queue, which is destroyed when the block ends
        # @return [Object] the block's value
        def queue
          queue = Functions.queue_new(pointer)
          yield queue
        ensure
          Functions.queue_destroy(queue) if queue
        end

        # Waits for an event in slices of SLICE seconds, so that an interrupt ends the wait soon.
        # @yieldparam event [FFI::Pointer] the event, which is destroyed when the block ends
        # @return [Object, nil] the block's value; nil: the time is over
        def event(queue, seconds)
          start = Timeout.now
          loop do
            remaining = Timeout.remaining(seconds, start)
            event = wait(:queue_poll, queue, ([remaining, SLICE].min * 1000).ceil)
            return event.null? ? nil : yield(event) if remaining.zero? || !event.null?
          ensure
            Functions.event_destroy(event) unless event.nil? || event.null?
          end
        end

        def inspect = "#<#{self.class}>"

        private

        def make(kind, conf)
          text = ::FFI::MemoryPointer.new(TEXT)
          pointer = Functions.new(kind, conf, text, TEXT)
          return pointer unless pointer.null?
          Functions.conf_destroy(conf)
          raise Godwit::Errors.of(ArgumentValueError, :connect, "librdkafka refuses the " \
            "properties: #{text.read_string}")
        end
      end
    end
  end
end
