# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # The counterpart of {BoundedQueue} for a durable logger in one process: {#push} encodes a
    # record and writes it to a {DiskQueue}, from which a {DurableSender} sends it. The writer has
    # no reference to its Logger, so that the Logger can be collected.
    #
    # A trap handler cannot lock a mutex, so the sender stores the handler's records a moment later.
    class DurableWriter < BaseWriter
      BYTES = 1 << 30
      SEGMENT_BYTES = 4 << 20
      SEGMENTS = 8 # a segment has at most an eighth of `durable_bytes`
      MAX_QUEUED = 10_000 # records of trap handlers that wait to be stored

      def initialize(settings, warnings)
        super
        @most = settings.durable_bytes || BYTES
        @lock = Mutex.new
        @freed = ConditionVariable.new
        @trapped = Thread::Queue.new # entries of trap handlers
        @waiting = @gone = 0
        @queue = self
        open_disk
      end

      attr_reader :gone # records that were in a folder when it was deleted
      def alive? = own? && !@deleted && @sender&.alive?
      # @return [Boolean] false during linger, when the writer still stores records
      def closed? = @disk_closed ? true : false

      # Starts the sender, also after its thread was killed.
      def start
        return if @closing || !own?
        first_with(@starting) do
          # The sender adopts folders. An interrupt must not leave their locks behind.
          Thread.handle_interrupt(Object => :never) { start_sender unless @closing || alive? }
        end
      rescue => error
        record_error(error)
      end

      # Has this writer report to readers the records that the other writer lost.
      def inherit(other) = @sequence.inherit(other.gone)

      # Stores an entry; any thread may call this method. Returns whether it is stored; :closed: the
      # writer is closed; nil: a trap handler's record, which the sender stores in a moment.
      def push(entry)
        # A kill after the record is stored must not prevent the sender's wake-up.
        Thread.handle_interrupt(Object => :never) do
          stored = @lock.synchronize { take(entry) }
          @sender&.wake
          stored
        rescue ThreadError
          enqueue(entry)
          nil
        end
      end

      def stats
        return Stats.new(queued: 0, sent: 0, dropped: 0, spooled: 0) unless own?
        Stats.new(queued: pending + @trapped.size, spooled: 0, dropped: @sequence.dropped + @gone,
          sent: @backlog.acknowledged(@disk.released), last_error: @last_error)
      end

      # Waits until all records logged before have been acknowledged.
      def flush(seconds)
        return pending.zero? unless own? && alive?
        finish = seconds && Timeout.now + seconds
        @lock.synchronize do
          goal = @disk.last
          wait_until(finish) { @disk.released >= goal }
          @disk.released >= goal
        end
      rescue ThreadError
        pending.zero? && @trapped.empty? # this is a trap handler, which cannot wait
      end

      # After this call the writer starts no sender. Needs no lock.
      def stop = @closing = true

      # Stores the records of trap handlers. The loop of the sender's thread calls this method.
      def store_trapped
        return if @trapped.empty?
        @lock.synchronize { store(@trapped.pop(true)) until @trapped.empty? }
      rescue ThreadError
        nil
      end

      # Wakes waiting callers. The sender calls this method when records were acknowledged.
      def progress
        @lock.synchronize { @freed.broadcast } if @waiting.positive?
      end

      private

      def open_disk
        known = {}
        entries = 0 # the number of entries after the last checkpoint
        # The last segment is never deleted, and must leave space for other segments.
        size = [SEGMENT_BYTES, @most / SEGMENTS + 1].min
        checkpoint = -> { DurableSequence.record(@sequence.topics, @entries) }
        @disk = DiskQueue.open(@settings.durable, segment_bytes: size, fsync: @settings.fsync,
          checkpoint: checkpoint) do |seq, record|
          entries = seq.zero? ? 0 : entries + 1
          DurableSequence.remember(known, seq, record)
        end
        @entries = (known.delete(DurableSequence::ENTRIES) || 0) + entries
        @sequence = DurableSequence.new(@settings, @disk.id, @disk.last, known)
        @backlog = Backlog.new(@disk.last, backlog_of_earlier)
      end

      def backlog_of_earlier
        most = @disk.last - @disk.released
        return 0 unless most.positive?
        checkpoint, released = @disk.released_in_first
        before = DurableSequence.entries(checkpoint) if checkpoint
        # A checkpoint of an older version of Godwit has no count of entries.
        before ? (@entries - before - released).clamp(0, most) : most
      end

      def start_sender
        # If the folder was deleted, {Handle} makes another writer, which makes the folder again.
        return close(Timeout.now, 0) if deleted?
        Exit.watch(self) unless @sender
        leftovers = DiskQueue.leftovers(File.realpath(@settings.durable))
        @sender = DurableSender.new(@settings, self, [@disk, *leftovers])
        @sender.start
      end

      def pending = [@backlog.waiting(@disk.released) - @gone, 0].max

      # Stores an entry, or drops it when there is no space. The caller holds the lock.
      def take(entry)
        return :closed if @disk_closed
        has_room = wait_for_space
        return :closed if @disk_closed # another thread may have closed the disk during the wait
        return store(entry) if has_room
        @sequence.drop(entry.stream)
        false
      end

      # Waits for space in the folder. The caller holds the lock.
      def wait_for_space
        return true if @disk.bytes < @most
        return false unless @settings.overflow == :block
        finish = @settings.block_timeout && Timeout.now + @settings.block_timeout
        wait_until(finish) { @disk.bytes < @most }
        @disk.bytes < @most
      end

      # The caller holds the lock. A waiting caller counts itself before it checks the condition,
      # since the sender signals only while a caller waits.
      def wait_until(finish)
        @waiting += 1
        wait(finish) until yield || @closing || (finish && Timeout.now >= finish)
      ensure
        @waiting -= 1
      end

      def wait(finish)
        Thread.handle_interrupt(Object => :immediate) do
          @freed.wait(@lock, Timeout.until(finish))
        end
      end

      # Stores an entry on the disk. The caller holds the lock.
      def store(entry)
        @sequence.report(Timeout.now) { |report| append(report) } if @sequence.unreported?
        @backlog.add(append(entry), @disk.released)
        true
      rescue SystemCallError => error
        @deleted = error.is_a?(Errno::ENOENT) && deleted?
        @sequence.fail(entry.stream)
        record_error(error)
        false
      end

      def append(entry)
        record = entry.pack(@sequence)
        @disk.append(SegmentedLog.entry(@sequence.seq, record), @sequence.seq)
        @entries += 1
        @sequence.seq
      end

      # Queues the record of a trap handler.
      def enqueue(entry)
        return @sequence.drop(entry.stream) if @trapped.size >= MAX_QUEUED
        @trapped << entry
        @sender&.wake(always: true)
      end

      def finish(deadline)
        @sender&.stop(Timeout.until(deadline))
        Thread.handle_interrupt(Object => :never) do
          @finished = true
          conclude
        rescue ThreadError
          # A trap handler cannot lock the mutex, which the interrupted code may have locked.
          Thread.new { conclude }.join(1)
        end
      end

      # @raise [ThreadError] in a trap handler, before this method has done anything
      def conclude
        store_trapped
        deleted = deleted?
        rest = close_disk
        return @warnings.gone(@gone = rest, @disk.folder, always: true) if deleted
        @incomplete = rest.positive?
        @warnings.kept(rest, @disk.folder) if @incomplete
      end

      # After this call the writer stores nothing, and another process may open the folder. Waiting
      # callers return.
      def close_disk
        @lock.synchronize do
          @disk_closed = true
          @freed.broadcast
          pending
        ensure
          @disk.close if @disk_closed
        end
      end

      def deleted? = @disk.deleted?
    end
    private_constant :DurableWriter
  end
end
