# frozen_string_literal: true

module Godwit
  module Work
    # The records of a partition that wait for a worker. A lane is the partition, or a key: the
    # records of a lane run one after the other.
    #
    # **Threads**: one at a time.
    # @private
    class Lanes
      # The messages of a key that do not run yet, in order. `due` is the monotonic time of a retry,
      # or nil. `busy` is true while a worker has the lane, `ready` while it waits for a worker.
      Lane = Struct.new(:key, :messages, :due, :busy, :ready)

      # @param by [Symbol, #call] see {Consumer.parallel}
      def initialize(by)
        @by = by
        @lanes = {}
        @ready = []
        @delayed = []
        @records = 0
      end

      # @return [Integer] lanes that wait for a worker
      def waiting = @ready.size

      # @return [Integer] records that wait for a worker. Those behind a record of their key that
      #   runs or failed do not count, since other keys must not wait for them
      def records = (@by == :partition) ? lane(nil).messages.size : @records

      # @param messages [Array<Message>] in order
      def add(messages)
        return append(lane(nil), messages) if @by == :partition
        messages.each do |message|
          lane = lane_of(message)
          next append(lane, [message]) unless lane.ready
          lane.messages << message
          @records += 1
        end
      end

      # Makes the lanes ready whose retry is due.
      def wake(now)
        due, @delayed = @delayed.partition { |lane| lane.due <= now }
        due.each do |lane|
          lane.due = nil
          ready(lane)
        end
      end

      # @param most [Integer] records
      # @param lanes [Integer] at most
      # @return [Array<Array(Lane, Array<Message>)>] what a worker runs now
      def dequeue(most, lanes)
        found = []
        while most > 0 && found.size < lanes && (lane = @ready.shift)
          found << begin_run(lane, most)
          most -= found.last[1].size
        end
        found
      end

      # @yieldparam message [Message] the first of a lane that is ready
      # @yieldreturn [Boolean] whether it may run now
      # @return [Array<Array(Lane, Array<Message>)>] none or one, of one record
      def dequeue_first
        lane = @ready.find { |one| yield one.messages.first }
        lane ? [begin_run(@ready.delete(lane), 1)] : []
      end

      # @param messages [Array<Message>] that did not run, in order
      # @param due [Float, nil] the time of the first one's retry
      def give_back(lane, messages, due)
        lane.messages.unshift(*messages)
        lane.due = due
        lane.busy = false
        return @lanes.delete(lane.key) if lane.messages.empty?
        due ? @delayed << lane : ready(lane)
      end

      private

      def lane(key) = @lanes[key] ||= Lane.new(key, [])

      def append(lane, messages)
        lane.messages.concat(messages)
        return @records += messages.size if lane.ready
        ready(lane) if messages.any? && !lane.due && !lane.busy
      end

      def ready(lane)
        lane.ready = true
        @ready << lane
        @records += lane.messages.size
      end

      def begin_run(lane, most)
        lane.ready = false
        lane.busy = true
        @records -= lane.messages.size
        [lane, lane.messages.shift(most)]
      end

      # Finds the lane of a record. If the lambda raises, or gives a key without a hash, the record
      # fails when it runs.
      def lane_of(message)
        key = (@by == :key) ? message.key : @by.call(message)
        @lanes[key] || lane(key)
      rescue StandardError, ScriptError, SystemStackError, SystemExit => error
        message.fault = error
        lane(message)
      end
    end
  end
end
