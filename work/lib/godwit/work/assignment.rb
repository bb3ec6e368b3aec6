# frozen_string_literal: true

module Godwit
  module Work
    # A partition that this process owns: the records that workers may run, and how far they are.
    # The records of a lane run one after the other: a lane is the partition, or a key.
    # @private
    class Assignment
      # Limits of records that are not finished.
      RECORDS = 10_000
      BYTES = 64 << 20
      # Unclean ends of a process at one watermark, after which records run one at a time; one more
      # makes the noted record a dead letter.
      CRASHES = 2
      # @!attribute messages
      #   @return [Array<Message>] in order, not yet running
      # @!attribute due
      #   @return [Float, nil] monotonic time of a retry
      # @!attribute busy
      #   @return [Boolean] whether a worker has it
      Lane = Struct.new(:key, :messages, :due, :busy)
      private_constant :RECORDS, :BYTES, :Lane

      # @param position [Groups::Position] that this process claimed
      # @param klass [Class] of consumers
      def initialize(position, klass)
        @position = position
        @klass = klass
        @progress = Progress.new(position.watermark, position.state)
        @by = klass.settings.parallel
        @fetched = position.watermark
        @lanes = {}
        @ready = []
        @delayed = []
        @outputs = []
        @unfinished = @bytes = @running = @changes = @committed = 0
        @stopped = @halted = false
        @pauses = {}
        @lock = Mutex.new
      end

      # @return [Class]
      attr_reader :klass
      # @return [Groups::Position]
      attr_reader :position
      # @return [Integer] the offset of the next record to fetch
      attr_reader :fetched

      def topic = @position.topic
      def partition = @position.partition
      def stopped? = @stopped

      # @return [Boolean] whether no further record runs: stopped or paused
      def halted? = @halted

      # @return [Symbol, nil] of a stopped one: :called when its hook was called, :done when the
      #   hook has ended
      attr_accessor :revoked

      # @return [Boolean] whether its records run one at a time, noted before
      def isolated? = @position.crashes >= CRASHES

      # @return [Integer, nil] offset of a record that has ended its process too often
      def poison = (@position.noted if @position.crashes > CRASHES)

      # @return [Boolean] whether it takes more records
      def hungry? = !@stopped && @unfinished < RECORDS && @bytes < BYTES

      # @return [Boolean]
      def idle? = @lock.synchronize { @running.zero? }

      # @return [Integer] lanes that wait for a worker
      def waiting = @halted ? 0 : @ready.size

      # @param version [Array] of the engine
      # @return [Boolean] whether all records that were there are handled and committed
      def up_to_date?(version) = @exhausted == version && @unfinished.zero? && !changed?

      # @return [Object, nil] the engine's version when there was nothing more to fetch
      attr_accessor :exhausted

      # Takes records that were read.
      # @param source [Source]
      def feed(source)
        @lock.synchronize do
          (@fetched...source.offset).each { |deleted| @progress.finish(deleted) }
          source.messages(@fetched).each do |message|
            next if @progress.finished?(message.offset)
            next record(message, []) unless DeadLetter.for?(@position.group, message)
            @unfinished += 1
            @bytes += message.size
            key = lane_of(message)
            lane = @lanes[key] ||= Lane.new(key, [])
            lane.messages << message
            @ready << lane if lane.messages.size == 1 && !lane.due && !lane.busy
          end
          @fetched = source.finish
        end
      end

      # Makes the lanes ready whose retry is due, and ends a pause whose time is up.
      def wake(now)
        resume(:consumer) if @pauses[:consumer].is_a?(Float) && @pauses[:consumer] <= now
        @lock.synchronize do
          due, @delayed = @delayed.partition { |lane| lane.due <= now }
          due.each { |lane| lane.due = nil }
          @ready.concat(due)
        end
      end

      # @param most [Integer] records
      # @param lanes [Integer]
      # @return [Array<Array(Lane, Array<Message>)>, nil] what a worker runs now
      def take(most, lanes)
        @lock.synchronize do
          return if @halted
          room = @progress.room - @running
          next take_stored if room <= 0
          most = [isolated? ? 1 - @running : most, room].min
          taken = []
          while most > 0 && taken.size < lanes && (lane = @ready.shift)
            messages = lane.messages.shift(most)
            messages.each { |one| one.attempt = @progress.attempts(one.offset) + 1 }
            lane.busy = true
            taken << [lane, messages]
            most -= messages.size
            @running += messages.size
          end
          taken unless taken.empty?
        end
      end

      # @param outputs [Array] of the record's handler
      def finish(message, outputs)
        @lock.synchronize do
          record(message, outputs)
          @unfinished -= 1
          @bytes -= message.size
          @running -= 1
        end
      end

      # Finishes a record that no worker ran.
      # @param outputs [Array]
      def skip(message, outputs) = @lock.synchronize { record(message, outputs) }

      # @return [Integer] attempts so far
      def fail(message)
        @lock.synchronize do
          @changes += 1
          @progress.fail(message.offset)
        end
      end

      # Gives back what a worker took and did not finish.
      # @param messages [Array<Message>] in order
      # @param due [Float, nil] the time of the first one's retry
      def give_back(lane, messages, due = nil)
        @lock.synchronize do
          @running -= messages.size
          lane.messages.unshift(*messages)
          lane.due = due
          lane.busy = false
          next @lanes.delete(lane.key) if lane.messages.empty?
          (due ? @delayed : @ready) << lane
        end
      end

      # No further record runs from now on.
      def stop = @lock.synchronize { @stopped = @halted = true }

      # Each reason has its own pause: records run when the last one has ended.
      # @param reason [Symbol] :operator, :consumer or :hook
      # @param paused [Boolean, Float] a Float: until this monotonic time
      def pause(reason, paused = true)
        @lock.synchronize do
          @pauses[reason] = paused
          @halted = @stopped || @pauses.each_value.any?
        end
      end

      def resume(reason) = pause(reason, false)

      # @return [Boolean] whether there is something to commit
      def changed? = @changes > @committed

      # @param messages [Array<Message>] that the commit finishes
      # @return [Array(Groups::Position, Array)] to commit, with outputs
      def snapshot(messages = [])
        @lock.synchronize do
          @written = @changes
          progress = messages.empty? ? @progress : @progress.with(messages.map(&:offset))
          position = @position.dup
          position.state = progress.dump
          position.watermark = progress.watermark
          [position, @outputs.dup]
        end
      end

      # The last snapshot was committed.
      # @param outputs [Integer] of it
      def committed(outputs)
        @lock.synchronize do
          @committed = @written
          @outputs.shift(outputs)
          @position.crashes = 0 if @position.watermark < @progress.watermark
          @position.watermark = @progress.watermark
        end
      end

      # The progress is full: only a record that is in it already, or holds the watermark, may run,
      # since its end makes the progress smaller.
      def take_stored
        return if @running > 0
        lane = @ready.find do |one|
          offset = one.messages.first.offset
          offset == @progress.watermark || @progress.attempts(offset) > 0
        end
        return unless lane
        @ready.delete(lane)
        lane.busy = true
        @running += 1
        message = lane.messages.shift
        message.attempt = @progress.attempts(message.offset) + 1
        [[lane, [message]]]
      end

      private

      def record(message, outputs)
        @progress.finish(message.offset)
        @outputs.concat(outputs)
        @changes += 1
      end

      # A record whose lambda raises fails when it runs.
      def lane_of(message)
        case @by
        when :partition then nil
        when :key then message.key
        else @by.call(message)
        end
      rescue => error
        message.fault = error
        message
      end
    end
  end
end
