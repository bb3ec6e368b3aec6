# frozen_string_literal: true

module Godwit
  module Work
    # A partition that this process owns: the records that workers may run, and its progress.
    # @private
    class Assignment
      # No more records are fetched while RECORDS of them, or blocks of BYTES bytes, are unfinished.
      RECORDS = 10_000
      AHEAD = 2_000 # most records that wait for a worker: more would only use memory
      BYTES = 64 << 20
      # After CRASHES crashes of the owner's process at one watermark, records run one at a time.
      # The record that runs alone at the next crash becomes a dead letter.
      CRASHES = 2
      # Records run one at a time until 1,000 of them have run, or until at least 32 of them have
      # run and have taken more than ISOLATED_SECONDS in all.
      ISOLATED = (32..1_000)
      ISOLATED_SECONDS = 1

      # @param position [Position] that this process claimed
      # @param klass [Class] the class of the consumers
      def initialize(position, klass)
        @position = position
        @klass = klass
        @progress = Progress.new(position.watermark, position.state)
        @lanes = Lanes.new(klass.settings.parallel)
        @fetched = position.watermark
        @outputs = []
        @done = []
        @unfinished = @bytes = @running = @changes = @committed = @alone = @alone_seconds = 0
        @stopped = @halted = @lost = false
        @pauses = {}
        @lock = Mutex.new
      end

      attr_reader :klass
      attr_reader :position
      # @return [Integer] the offset of the next record to fetch
      attr_reader :fetched

      def topic = @position.topic
      def partition = @position.partition

      # @return [Integer] the partition's id in the engine
      def id = topic.ids[partition]
      def stopped? = @stopped

      # @return [Boolean] whether no further record may run: the partition is stopped or paused
      attr_reader :halted
      alias_method :halted?, :halted

      # @return [Symbol, nil] of a stopped partition: :called when its hook `revoked` was called,
      #   :done when the hook has ended
      attr_accessor :revoked

      # @return [Boolean] whether records run one at a time; the engine stores each record's offset
      def isolated? = @position.crashes >= CRASHES

      # @return [Integer, nil] offset of a record that has ended its process too often
      def poison = (@position.noted if @position.crashes > CRASHES)

      # @return [Boolean] whether more records may be fetched
      def hungry?
        @lock.synchronize do
          count_done
          !@stopped && @unfinished < RECORDS && @bytes < BYTES && @lanes.records < AHEAD
        end
      end

      def idle?
        @lock.synchronize do
          count_done
          @running.zero?
        end
      end

      # @return [Integer] number of {Lanes::Lane}s that wait for a worker
      def waiting = @halted ? 0 : @lanes.waiting

      # @param version [Array] a result of the engine's method `version`
      # @return [Boolean] whether all records up to this version are handled and committed
      def up_to_date?(version) = @exhausted == version && @unfinished.zero? && !changed?

      # @return [Object, nil] the engine's `version` at which there was nothing more to fetch
      attr_accessor :exhausted

      # Adds the records of a block.
      def feed(source)
        @lock.synchronize do
          # The log has deleted the records between the last block and this block.
          @progress.finish(@fetched, source.offset - @fetched) if source.offset > @fetched
          # An empty block moves the position past offsets that have no record.
          @changes += 1 if source.block.count.zero?
          messages = unfinished(source)
          @unfinished += source.unfinished = messages.size
          @bytes += source.block.bytesize if messages.any?
          @lanes.add(messages)
          @fetched = source.finish
        end
      end

      # Makes lanes ready whose retry time has come, and ends a consumer's pause whose time is over.
      def wake(now)
        resume(:consumer) if @pauses[:consumer].is_a?(Float) && @pauses[:consumer] <= now
        @lock.synchronize { @lanes.wake(now) }
      end

      # @param most [Integer] the most records to dequeue
      # @return [Array<Array(Lane, Array<Message>)>, nil] the records that a worker runs now
      def dequeue(most, lanes)
        @lock.synchronize do
          return if @halted
          count_done
          room = @progress.room(@fetched) - @running
          most = [isolated? ? 1 - @running : most, room].min
          found = (room > 0) ? @lanes.dequeue(most, lanes) : dequeue_stored
          found.each do |_, messages|
            count_attempts(messages)
            @running += messages.size
          end
          found unless found.empty?
        end
      end

      # @param messages [Array<Message>] that a worker has handled, in order
      # @param outputs [Array<Blocks>] records that the handler has produced
      def finish(messages, outputs = [])
        return if messages.empty?
        return @done << messages if outputs.empty? # `<<` is one step, so it needs no lock
        @lock.synchronize do
          @done << messages
          @outputs.concat(outputs)
        end
      end

      # Finishes a record without a run: `outputs` has its dead letter.
      def skip(message, outputs)
        @lock.synchronize do
          record([message])
          @outputs.concat(outputs)
          @position.crashes = 0
        end
      end

      # @return [Integer] attempts of the record, the failed one included
      def fail(message)
        @lock.synchronize do
          @changes += 1
          @progress.fail(message.offset)
        end
      end

      # Gives records back to their lane: a worker has dequeued them, and not finished them.
      # @param messages [Array<Message>] in order
      # @param due [Float, nil] the monotonic time at which the first message runs again
      def give_back(lane, messages, due = nil)
        @lock.synchronize do
          @running -= messages.size
          @lanes.give_back(lane, messages, due)
        end
      end

      # Stops the partition, since another member owns it now.
      def lose
        @lost = true
        stop
      end

      def lost? = @lost

      # Lets no further record run from now on.
      def stop = @lock.synchronize { @stopped = @halted = true }

      # Pauses or resumes for one reason. Each reason has its own pause: records run when the last
      # pause has ended.
      # @param reason [Symbol] :operator, :consumer, :hook or :quiet
      # @param paused [Boolean, Float] a Float: the monotonic time at which the pause ends
      def pause(reason, paused = true)
        @lock.synchronize do
          @pauses[reason] = paused
          @halted = @stopped || @pauses.each_value.any?
        end
      end

      def resume(reason) = pause(reason, false)

      # @param seconds [Float] how long the handler ran for a record that ran alone
      def ran_alone(seconds) = @alone_seconds += seconds

      # Makes the next commit clear the field `noted` of the position, even if the record that ran
      # alone has changed nothing.
      def remove_note = @lock.synchronize { @changes += 1 unless changed? }

      # @return [Boolean] whether there is something to commit
      def changed? = @done.any? || @changes > @committed

      # @param messages [Array<Message>] that the commit finishes
      # @return [Array(Position, Array<Blocks>)] the position to commit, and the outputs
      def snapshot(messages = [])
        @lock.synchronize do
          count_done
          @written = @changes
          progress = messages.empty? ? @progress : @progress.with(messages.map(&:offset))
          position = @position.dup
          position.state = progress.dump
          position.watermark = progress.watermark
          position.crashes = crashes(position.watermark)
          [position, @outputs.dup]
        end
      end

      # Marks the last snapshot as committed.
      # @param outputs [Integer] the number of the snapshot's outputs
      def committed(outputs)
        @lock.synchronize do
          @committed = @written
          @outputs.shift(outputs)
          @position.crashes = crashes(@progress.watermark)
          @position.watermark = @progress.watermark
        end
      end

      def inspect = "#<#{self.class} #{topic.name} #{partition}>"

      private

      # @return [Integer] crashes that still count when this watermark is committed
      def crashes(watermark)
        return (watermark > @position.crashed_at.to_i) ? 0 : @position.crashes unless isolated?
        enough = @alone >= ISOLATED.max ||
          (@alone >= ISOLATED.min && @alone_seconds > ISOLATED_SECONDS)
        enough ? 0 : @position.crashes
      end

      # @return [Array<Message>] the source's messages that this group has not finished
      def unfinished(source)
        messages = source.messages([@fetched, @progress.watermark].max)
        messages.reject! { |one| @progress.finished?(one.offset) } unless @progress.in_order?
        return messages unless source.block.headers?
        messages, others = messages.partition { |one| DeadLetter.for?(@position.group, one) }
        others.each { |one| record([one]) }
        messages
      end

      # Dequeues one record while {Progress#room} is 0: the record at the watermark, or a record
      # that has failed before. The end of such a record makes the stored progress smaller.
      def dequeue_stored
        return [] if @running > 0
        @lanes.dequeue_first do |message|
          message.offset == @progress.watermark || @progress.attempts(message.offset) > 0
        end
      end

      def count_attempts(messages)
        return unless @progress.failures?
        messages.each { |one| one.attempt = @progress.attempts(one.offset) + 1 }
      end

      # Counts the records that the workers have finished.
      def count_done
        alone = isolated?
        while (messages = @done.shift)
          count = messages.size
          @alone += count if alone
          record(messages)
          @unfinished -= count
          @running -= count
          @bytes -= release(messages)
        end
      end

      # @return [Integer] bytes of the blocks whose messages are now all finished
      def release(messages)
        source = messages.first.source
        return source.release(messages.size) if source.equal?(messages.last.source)
        messages.sum { |message| message.source.release(1) }
      end

      def record(messages)
        first = messages.first.offset
        count = messages.size
        if count == 1 || messages.last.offset - first == count - 1
          @progress.finish(first, count)
        else
          messages.each { |one| @progress.finish(one.offset) }
        end
        @changes += 1
      end
    end
  end
end
