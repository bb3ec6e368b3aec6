# frozen_string_literal: true

require "forwardable"
require_relative "../durable/store"
require_relative "../wire/packing"
require_relative "push_transport"

module Godwit
  class Logger < ::Logger
    # A {PushTransport} that writes to the disk what the socket does not take, and sends that, in
    # order, before newer records. Each process has a folder within the spool. The next process that
    # uses the spool sends what is left there, with its writer id and numbers.
    #
    # What libzmq took stays on the disk until libzmq must have sent it. After a kill a record may
    # therefore come twice, rather than never.
    class SpoolTransport
      BYTES = 1 << 30
      SEGMENT_BYTES = 1 << 20
      # Bytes sent in one go: more than a batch of new records has, so that the backlog shrinks.
      CHUNK = 1 << 18
      SEND_TIMEOUT = 0.05 # seconds that the socket has before records go to the disk
      LINE = "L"
      FRAMES = "F"

      extend Forwardable

      # A store, and the number up to which libzmq has taken its records.
      Part = Struct.new(:store, :taken) do
        # @return [Integer] records that libzmq has not taken
        def left = [store.segments.last - taken, 0].max
      end
      # libzmq has taken the part's records up to a number, as so many messages in all.
      Taken = Struct.new(:part, :number, :messages)
      private_constant :Part, :Taken

      def initialize(settings, warnings)
        @push = PushTransport.new(settings)
        @warnings = warnings
        @lost = 0
        @folder = settings.spool
        @most = settings.spool_bytes || BYTES
        make_folder
        @parts = [] # the oldest first
        @taken = [] # what libzmq may still hold
        @ready = [] # messages of the first part that come next
        @unresponsive = true # until the socket has taken something
      end

      attr_reader :lost # records in folders that were deleted

      def open
        @kept = nil
        @push.open
        @parts = Store.leftovers(@folder).map { |store| part_of(store) } if @parts.empty?
      end

      def_delegators :@push, :sent, :held, :finding

      # As {PushTransport#deliver}; records on the disk count as gone.
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

      # Waits until some may go, or {SEND_TIMEOUT} is over.
      def wait = @unresponsive = !@push.wait(SEND_TIMEOUT)
      def backlog? = !first.nil?

      # Sends some of the backlog as soon as that is possible.
      def replay_soon(seconds)
        Thread.handle_interrupt(Object => :immediate) { @push.wait(seconds) } && replay
      end

      # @return [Integer] records on the disk that libzmq has not taken, as far as their numbers
      #   tell; after {#close} those that are kept
      def spooled = @kept || @parts.sum(&:left)

      # @param seconds [Numeric] in which what libzmq holds, and what is on the disk, may still go
      # @return [Boolean, Integer] whether all went; an Integer: records kept on the disk
      def close(seconds)
        finish = Timeout.now + seconds
        replay_soon([finish - Timeout.now, 0].max) while backlog? && Timeout.now < finish
        forget_deleted
        all = @push.close([finish - Timeout.now, 0].max)
        release(all: @push.emptied)
        @kept = @parts.sum { |part| part.store.segments.last - part.store.segments.released }
        @parts.each { |part| part.store.close }
        @parts = []
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
        return 0 if @parts.sum { |part| part.store.segments.bytes } >= @most
        make_folder unless File.directory?(@folder)
        count = messages.size - from
        until append(messages[from, count])
          return 0 if (count /= 2).zero? # fewer may fit on a full disk
        end
        count
      rescue Errno::ENOSPC, Errno::EDQUOT, Errno::EFBIG
        0 # no room for a folder
      end

      def append(messages)
        segments = own.store.segments
        number = segments.last
        entries = messages.map { |message| SegmentedLog.entry(number += 1, pack(message)) }
        segments.append(entries.join, number)
        true
      rescue Errno::ENOSPC, Errno::EDQUOT, Errno::EFBIG
        false
      end

      def own
        return @own if @parts.include?(@own)
        @own = part_of(Store.within(@folder, segment_bytes: [SEGMENT_BYTES, @most / 8 + 1].min))
        @parts.push(@own).last
      end

      def part_of(store) = Part.new(store, store.segments.released)
      # @return [Part, nil] the first of which libzmq has not taken all
      def first = @parts.find { |part| part.left.positive? }
      def pack(record) = record.is_a?(::String) ? FRAMES + record : LINE + record.first.b

      def unpack(bytes)
        record = bytes.byteslice(1..)
        bytes.start_with?(LINE) ? [record] : record
      end

      # Sends what goes without waiting, at most {CHUNK}.
      def replay
        forget_deleted
        fetch if @ready.empty?
        return if @ready.empty?
        sent = @push.deliver(@ready.map(&:last), 0)
        return if sent.zero?
        @unresponsive = false
        part = first
        part.taken = @ready.shift(sent).last.first
        @taken << Taken.new(part, part.taken, @push.messages)
        release
      end

      def release(all: false)
        while (taken = @taken.first) && (all || @push.messages - taken.messages >= @push.depth)
          @taken.shift
          taken.part.store.segments.release(taken.number)
          remove(taken.part) if taken.part.store.segments.empty?
        end
      end

      def forget_deleted
        @parts.reject { |part| File.directory?(part.store.folder) }.each { |part| forget(part) }
      end

      # The part's folder was deleted; {#own} makes another when it is needed.
      def forget(part)
        count = part.left
        @ready = [] if part.equal?(first)
        @warnings.gone(count, part.store.folder)
        # In this order, and without I/O in between, since other threads read the counts.
        remove(part) { @lost += count }
      end

      def remove(part)
        @taken.reject! { |taken| taken.part.equal?(part) }
        @parts.delete_if { |one| one.equal?(part) }
        yield if block_given?
        part.store.remove
      end

      def fetch
        part = first or return
        segments = part.store.segments
        entries, last = segments.read(segments.after(part.taken), CHUNK)
        if entries
          SegmentedLog.each_entry(entries) { |number, bytes| @ready << [number, unpack(bytes)] }
        end
        # All that was read is damaged: skip it.
        part.taken = entries ? last : segments.last if @ready.empty?
      rescue Errno::ENOENT
        forget(part)
      end
    end
    private_constant :SpoolTransport
  end
end
