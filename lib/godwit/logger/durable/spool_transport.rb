# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # A {PushTransport} that stores in a {DiskQueue} records that the socket does not accept, and
    # sends them, in order, before newer ones. Each process has a subfolder of the spool. The next
    # process that uses the spool sends the rest, with the old writer id and seqs.
    #
    # Records that libzmq accepted stay on the disk until libzmq has accepted as many later messages
    # as its queue holds. So after a kill a record may arrive twice, rather than never.
    class SpoolTransport
      BYTES = 1 << 30
      SEGMENT_BYTES = 1 << 20
      # Most bytes that {#replay} sends: more than a batch of new records, so the backlog shrinks.
      CHUNK = 1 << 18
      SEND_TIMEOUT = 0.05 # seconds that {#wait} waits for the socket before records go to the disk

      extend Forwardable

      # The next record of the first queue, in the form that {PushTransport#deliver} accepts.
      Ready = Struct.new(:seq, :record)
      # The records of a queue that libzmq got, up to `seq`, and the number of all messages that
      # libzmq had got by then.
      InFlight = Struct.new(:queue, :seq, :messages)

      def initialize(settings, warnings)
        @push = PushTransport.new(settings)
        @warnings = warnings
        @lost = 0
        @folder = settings.spool
        @most = settings.spool_bytes || BYTES
        make_folder
        @queues = [] # the DiskQueues, the oldest first
        @in_flight = [] # InFlight entries, whose records may still be in libzmq's queue
        @ready = []
        @unresponsive = true # true until the socket has accepted a record
      end

      attr_reader :lost # records in folders that were deleted

      def open
        @kept = nil
        @push.open
        @queues = DiskQueue.leftovers(@folder) if @queues.empty?
      end

      def_delegators :@push, :sent, :held, :finding

      # Delivers as {PushTransport#deliver} does; records on the disk count as delivered.
      def deliver(messages, from)
        @push.open
        replay
        return put(messages, from) if backlog?
        sent = @push.deliver(messages, from)
        @unresponsive = false if sent.positive?
        release
        return sent if sent.positive?
        @unresponsive ? put(messages, from) : 0
      end

      # Waits until the socket may accept messages, for at most {SEND_TIMEOUT}.
      def wait = @unresponsive = !@push.wait(SEND_TIMEOUT)
      def backlog? = !first.nil?

      # Waits up to `seconds` for the socket, and then sends some of the backlog.
      def replay_soon(seconds)
        Thread.handle_interrupt(Object => :immediate) { @push.wait(seconds) } && replay
      end

      # @return [Integer] records on the disk that libzmq does not have, computed from their seqs;
      #   after {#close} all that are on the disk
      def spooled = @kept || @queues.sum(&:unsent)

      # @return [Boolean, Integer] whether libzmq sent all records, or how many are on the disk
      def close(seconds)
        finish = Timeout.now + seconds
        replay_soon(Timeout.until(finish)) while backlog? && Timeout.now < finish
        forget_deleted
        all = @push.close(Timeout.until(finish))
        release(all: @push.emptied)
        @kept = @queues.sum { |queue| queue.last - queue.released }
        @queues.each(&:close)
        @queues = []
        @kept.zero? ? all : @kept
      end

      private

      def make_folder
        FileUtils.mkdir_p(@folder, mode: 0o700)
        @folder = File.realpath(@folder)
      rescue SystemCallError => error
        raise Errors.build(error.errno, :spool, @folder)
      end

      def put(messages, from)
        forget_deleted
        return 0 if @queues.sum(&:bytes) >= @most
        make_folder unless File.directory?(@folder)
        count = messages.size - from
        until append(messages[from, count])
          return 0 if (count /= 2).zero? # half as many records may fit on a full disk
        end
        count
      rescue Errno::ENOSPC, Errno::EDQUOT, Errno::EFBIG
        0 # the disk has no room for a folder
      end

      def append(messages)
        queue = own
        seq = queue.last
        entries = messages.map { |message| SegmentedLog.entry(seq += 1, pack(message)) }
        queue.append(entries.join, seq)
        true
      rescue Errno::ENOSPC, Errno::EDQUOT, Errno::EFBIG
        false
      end

      def own
        return @own if @queues.include?(@own)
        @own = DiskQueue.within(@folder, segment_bytes: [SEGMENT_BYTES, @most / 8 + 1].min)
        @queues.push(@own).last
      end

      # @return [DiskQueue, nil] the first queue with records that libzmq has not accepted
      def first = @queues.find { |queue| queue.unsent.positive? }

      # Packs a record as a durable logger does, whose records may be in the same folder.
      def pack(record) = record.is_a?(::String) ? record : record.first.b

      def unpack(bytes)
        _, header, = Packing.frames(bytes)
        header&.start_with?("{") ? bytes : [bytes]
      end

      # Sends at most {CHUNK} bytes of the backlog, without waiting.
      def replay
        forget_deleted
        fetch if @ready.empty?
        return if @ready.empty?
        count = @push.deliver(@ready.map(&:record), 0)
        return if count.zero?
        @unresponsive = false
        queue = first
        queue.sent_to(@ready.shift(count).last.seq)
        @in_flight << InFlight.new(queue, queue.sent, @push.messages)
        release
      end

      def release(all: false)
        while (sent = @in_flight.first) && (all || @push.messages - sent.messages >= @push.depth)
          @in_flight.shift
          sent.queue.release(sent.seq)
          remove(sent.queue) if sent.queue.empty?
        end
      end

      def forget_deleted = @queues.select(&:deleted?).each { |queue| forget(queue) }

      # Drops a queue whose folder was deleted; {#own} makes another folder when one is needed.
      def forget(queue)
        count = queue.unsent
        @ready = [] if queue.equal?(first)
        @warnings.gone(count, queue.folder)
        # No I/O comes between the removal of the queue and the count of its records as lost, since
        # other threads read both.
        remove(queue) { @lost += count }
      end

      def remove(queue)
        @in_flight.reject! { |sent| sent.queue.equal?(queue) }
        @queues.delete_if { |one| one.equal?(queue) }
        yield if block_given?
        queue.remove
      end

      def fetch
        queue = first or return
        chunk = queue.peek(CHUNK)
        return queue.sent_to(queue.last) unless chunk # all remaining bytes are damaged: skip them
        SegmentedLog.each_entry(chunk.entries) do |seq, bytes|
          @ready << Ready.new(seq, unpack(bytes))
        end
      rescue Errno::ENOENT
        forget(queue)
      end
    end
    private_constant :SpoolTransport
  end
end
