# frozen_string_literal: true

module Godwit
  module Work
    # A partition that this process owns: the records that workers may run, and how far they are.
    # @private
    class Assignment
      # Limits of records that are not finished, and of the blocks that hold them.
      RECORDS = 10_000
      AHEAD = 2_000 # records that wait for a worker: more would only take memory
      BYTES = 64 << 20
      # The unclean ends of a process at one watermark after which records run one at a time. One
      # more end makes the noted record a dead letter.
      CRASHES = 2
      # The number of records that run one at a time, since each of those that ran or were not
      # committed may have ended the process: at most 1,000, and fewer when 32 or more took a
      # second.
      ISOLATED = (32..1_000)
      ISOLATED_SECONDS = 1

      # @param position [Position] that this process claimed
      # @param klass [Class] of consumers
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

      # @return [Integer] of the partition in the engine
      def id = topic.ids[partition]
      def stopped? = @stopped

      # @return [Boolean] whether no further record runs: stopped or paused
      attr_reader :halted
      alias_method :halted?, :halted

      # @return [Symbol, nil] of a stopped one: :called when its hook was called, :done when the
      #   hook has ended
      attr_accessor :revoked

      # @return [Boolean] whether its records run one at a time, noted before
      def isolated? = @position.crashes >= CRASHES

      # @return [Integer, nil] offset of a record that has ended its process too often
      def poison = (@position.noted if @position.crashes > CRASHES)

      # @return [Boolean] whether it has room for more records
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

      # @return [Integer] lanes that wait for a worker
      def waiting = @halted ? 0 : @lanes.waiting

      # @param version [Array] of the engine
      # @return [Boolean] whether all records that were there are handled and committed
      def up_to_date?(version) = @exhausted == version && @unfinished.zero? && !changed?

      # @return [Object, nil] the engine's version when there was nothing more to fetch
      attr_accessor :exhausted

      # Adds records that were read.
      def feed(source)
        @lock.synchronize do
          # The log has deleted these records.
          @progress.finish(@fetched, source.offset - @fetched) if source.offset > @fetched
          # The empty block moves the position past offsets without a record.
          @changes += 1 if source.block.count.zero?
          messages = unfinished(source)
          @unfinished += source.unfinished = messages.size
          @bytes += source.block.bytesize if messages.any?
          @lanes.add(messages)
          @fetched = source.finish
        end
      end

      # Makes the lanes ready whose retry is due, and ends a pause whose time is up.
      def wake(now)
        resume(:consumer) if @pauses[:consumer].is_a?(Float) && @pauses[:consumer] <= now
        @lock.synchronize { @lanes.wake(now) }
      end

      # @param most [Integer] records
      # @return [Array<Array(Lane, Array<Message>)>, nil] what a worker runs now
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
      # @param outputs [Array] of their handler
      def finish(messages, outputs = [])
        return if messages.empty?
        return @done << messages if outputs.empty? # `<<` is one step, so it needs no lock
        @lock.synchronize do
          @done << messages
          @outputs.concat(outputs)
        end
      end

      # Finishes a record that no worker ran.
      def skip(message, outputs)
        @lock.synchronize do
          record([message])
          @outputs.concat(outputs)
          @position.crashes = 0
        end
      end

      # @return [Integer] attempts so far
      def fail(message)
        @lock.synchronize do
          @changes += 1
          @progress.fail(message.offset)
        end
      end

      # Gives back what a worker has dequeued and not finished.
      # @param messages [Array<Message>] in order
      # @param due [Float, nil] the time of the first one's retry
      def give_back(lane, messages, due = nil)
        @lock.synchronize do
          @running -= messages.size
          @lanes.give_back(lane, messages, due)
        end
      end

      # Forgets the partition, which another member has now.
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
      # @param paused [Boolean, Float] a Float: until this monotonic time
      def pause(reason, paused = true)
        @lock.synchronize do
          @pauses[reason] = paused
          @halted = @stopped || @pauses.each_value.any?
        end
      end

      def resume(reason) = pause(reason, false)

      # @param seconds [Float] for which the handler of a record that runs alone took
      def ran_alone(seconds) = @alone_seconds += seconds

      # Lets the next commit remove the note of the record that ran alone, even if that record
      # changed nothing.
      def remove_note = @lock.synchronize { @changes += 1 unless changed? }

      # @return [Boolean] whether there is something to commit
      def changed? = @done.any? || @changes > @committed

      # @param messages [Array<Message>] that the commit finishes
      # @return [Array(Position, Array)] to commit, with outputs
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

      # Notes that the last snapshot was committed.
      # @param outputs [Integer] of it
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

      # @return [Integer] unclean ends that count from now on
      def crashes(watermark)
        return (watermark > @position.crashed_at.to_i) ? 0 : @position.crashes unless isolated?
        enough = @alone >= ISOLATED.max ||
          (@alone >= ISOLATED.min && @alone_seconds > ISOLATED_SECONDS)
        enough ? 0 : @position.crashes
      end

      # @return [Array<Message>] those that this group has not finished
      def unfinished(source)
        messages = source.messages([@fetched, @progress.watermark].max)
        messages.reject! { |one| @progress.finished?(one.offset) } unless @progress.in_order?
        return messages unless source.block.headers?
        messages, others = messages.partition { |one| DeadLetter.for?(@position.group, one) }
        others.each { |one| record([one]) }
        messages
      end

      # Gives a record while the progress is full. Only a record that is in the progress already, or
      # holds the watermark, may run, since its end makes the progress smaller.
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

      # Counts what the workers have finished.
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

      # @return [Integer] bytes
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
