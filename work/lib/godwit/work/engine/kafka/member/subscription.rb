# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # Joins a group for a topic.
      # @private
      module Subscription
        REBALANCE = 0x10 # an event
        EVENTS = REBALANCE | Handle::ERROR
        private_constant :EVENTS

        class << self
          # @param client [String] names the member
          # @param wake_up [WakeUp] for its events
          # @return [Array(Handle, FFI::Pointer)] and the queue of its events
          def open(settings, group, topic, client, wake_up)
            properties = settings.consumer(group, topic.partitions, client, topic.name)
            handle = Handle.new(Handle::CONSUMER, properties) do |conf|
              Functions.conf_set_events(conf, EVENTS)
            end
            Functions.poll_set_consumer(handle.pointer)
            queue = Functions.queue_get_consumer(handle.pointer)
            all = [0].pack("V") # the runner looks at all partitions
            Functions.queue_io_event_enable(queue, wake_up.writer.fileno, all, all.bytesize)
            subscribe(handle, group, topic)
            [handle, queue]
          rescue
            handle&.close
            raise
          end

          private

          def subscribe(handle, group, topic)
            PartitionList.with([PartitionList::Entry.new(topic.name)]) do |list|
              code = Functions.subscribe(handle.pointer, list)
              raise Errors.of(code, :join, nil, resource: group) unless code.zero?
            end
          end
        end
      end
    end
  end
end
