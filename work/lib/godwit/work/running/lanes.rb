# frozen_string_literal: true

module Godwit
  module Work
    # The records of a partition that wait for a worker. A lane has the records of the partition, or
    # of one key: they run one after the other.
    #
    # **Threads**: one at a time.
    # @private
    class Lanes
      # `messages`: records that have not begun, in order. `due`: the monotonic time of a retry.
      # `busy`: a worker runs records of the lane. `ready`: the lane waits for a worker.
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

      # @return [Integer] records that wait for a worker, without those of lanes whose first record
      #   runs or failed: such a lane must not stop the fetch of records with other keys
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

      # Makes lanes ready whose retry time has come.
      def wake(now)
        due, @delayed = @delayed.partition { |lane| lane.due <= now }
        due.each do |lane|
          lane.due = nil
          ready(lane)
        end
      end

      # @param most [Integer] the most records to dequeue
      # @param lanes [Integer] the most lanes
      # @return [Array<Array(Lane, Array<Message>)>] the records that a worker runs now
      def dequeue(most, lanes)
        found = []
        while most > 0 && found.size < lanes && (lane = @ready.shift)
          found << begin_run(lane, most)
          most -= found.last[1].size
        end
        found
      end

      # @yieldparam message [Message] the first message of a ready lane
      # @yieldreturn [Boolean] whether the message may run now
      # @return [Array<Array(Lane, Array<Message>)>] one lane with one message, or empty
      def dequeue_first
        lane = @ready.find { |one| yield one.messages.first }
        lane ? [begin_run(@ready.delete(lane), 1)] : []
      end

      # @param messages [Array<Message>] that did not run, in order
      # @param due [Float, nil] the monotonic time at which the first message runs again
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

      # Finds the lane of a record. If the lambda raises, or returns a key that has no method
      # `hash`, the record fails when it runs.
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
