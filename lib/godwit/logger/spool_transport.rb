# frozen_string_literal: true

require_relative "durable/store"
require_relative "packing"
require_relative "push_transport"

module Godwit
  class Logger < ::Logger
    # A {PushTransport} that puts on the disk what the socket does not take, and sends that, in
    # order, before anything newer. What a process leaves there is sent by the next that uses the
    # folder, as it is: under its own id and numbers. Each process has a folder of its own within.
    #
    # What libzmq took stays on the disk until it must have left libzmq: it comes again after a
    # kill, rather than never.
    # @private
    class SpoolTransport
      BYTES = 1 << 30
      SEGMENT_BYTES = 1 << 20
      # Bytes that are sent in one go: more than a batch of new ones has, so that the rest shrinks.
      CHUNK = 1 << 18
      # Seconds that the socket has, before records go to the disk.
      PATIENCE = 0.05
      LINE = "L"
      FRAMES = "F"

      # A store, and the number up to which libzmq has taken its records.
      Part = Struct.new(:store, :taken) do
        # @return [Integer] records that libzmq has not taken
        def left = [store.segments.last - taken, 0].max
      end
      # Taken up to a number, when the socket had been given so many messages in all.
      Taken = Struct.new(:part, :number, :messages)
      private_constant :Part, :Taken

      # @raise [SystemError] when the folder cannot be made
      def initialize(settings, warnings)
        @push = PushTransport.new(settings)
        @warnings = warnings
        @lost = 0
        @folder = settings.spool
        @most = settings.spool_bytes || BYTES
        unless @folder.is_a?(::String)
          raise Errors.bad_type(:logger, "spool:", "the path of a folder", @folder)
        end
        unless @most.is_a?(Integer) && @most.positive?
          raise Errors.bad_value(:logger, "spool_bytes:", "an Integer, 1 or more", @most)
        end
        make_folder
        @parts = [] # the oldest first
        @taken = [] # what libzmq may still hold
        @ready = [] # messages of the first part that come next
        @unresponsive = true # until the socket has taken something
      end

      # @return [Integer] records that were here, until somebody deleted the folder
      attr_reader :lost

      # @raise [Error]
      def open
        @kept = nil
        @push.open
        @parts = Store.leftovers(@folder).map { |store| part_of(store) } if @parts.empty?
      end

      # @return [Integer] records that libzmq took
      def sent = @push.sent

      # @return [Integer] records that libzmq may hold in its queue
      def held = @push.held

      # As {PushTransport#deliver}; what goes to the disk has gone.
      def deliver(messages, from)
        @push.open
        replay
        return put(messages, from) if backlog?
        sent = @push.deliver(messages, from)
        @unresponsive = false if sent.positive?
        release
        return sent if sent.positive?
        return 0 unless @unresponsive # it has {PATIENCE}
        put(messages, from)
      end

      # Waits until some may go, or {PATIENCE} is over.
      def wait(seconds = PATIENCE)
        @unresponsive = !@push.wait(seconds)
      end

      # @return [Boolean] whether something is on the disk
      def backlog? = !first.nil?

      # Sends some of it, once that is possible.
      # @param seconds [Numeric] to wait for the socket
      def replay_soon(seconds)
        Thread.handle_interrupt(Object => :immediate) { @push.wait(seconds) } && replay
      end

      # @return [Integer] records on the disk that libzmq has not taken, as far as their numbers
      #   tell; after {#close} those that are kept
      def spooled = @kept || @parts.sum(&:left)

      # @param seconds [Numeric] in which what libzmq holds, and what is on the disk, may still go
      # @return [Boolean, Integer] whether it all went; how many are kept on the disk
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

      # @return [String, nil]
      def last_endpoint = @push.last_endpoint

      private

      def make_folder
        FileUtils.mkdir_p(@folder, mode: 0o700)
        @folder = File.realpath(@folder)
      rescue SystemCallError => error
        raise Errors.build(error.errno, :spool, @folder)
      end

      # @return [Integer] how many went to the disk; 0 when there is no room
      def put(messages, from)
        forget_deleted
        return 0 if @parts.sum { |part| part.store.segments.bytes } >= @most
        make_folder unless File.directory?(@folder)
        count = messages.size - from
        until append(messages[from, count])
          return 0 if (count /= 2).zero? # as with its own bound
        end
        count
      rescue Errno::ENOSPC, Errno::EDQUOT, Errno::EFBIG
        0 # no room for a folder
      end

      # @return [Boolean] whether there was room
      def append(messages)
        segments = own.store.segments
        number = segments.last
        segments.append(
          messages.map { |message| SegmentedLog.entry(number += 1, pack(message)) }.join, number
        )
        true
      rescue Errno::ENOSPC, Errno::EDQUOT, Errno::EFBIG
        false
      end

      # @return [Part] this process's
      def own
        return @own if @parts.include?(@own)
        @own = part_of(Store.within(@folder, segment_bytes: [SEGMENT_BYTES, @most / 8 + 1].min))
        @parts << @own
        @own
      end

      def part_of(store) = Part.new(store, store.segments.released)

      # @return [Part, nil] the first of which libzmq has not taken all
      def first = @parts.find { |part| part.left.positive? }

      def pack(record) = record.is_a?(::String) ? FRAMES + record : LINE + record.first.b

      # @return [String, Array<String>, nil] nil: the disk has spoilt it
      def unpack(bytes)
        record = bytes.byteslice(1..)
        bytes.start_with?(LINE) ? [record] : (record if Packing.frames(record))
      end

      # Hands over what goes without waiting, but no more than {CHUNK}.
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

      # @param all [Boolean] whether libzmq holds nothing any more
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

      # Its records are gone; another is begun when one is needed.
      def forget(part)
        count = part.left
        @ready = [] if part.equal?(first)
        @lost += count
        if count.positive?
          @warnings.call(
            "#{Text.count(count, "was", "were")} in #{part.store.folder}, which is gone"
          )
        end
        remove(part)
      end

      def remove(part)
        @taken.reject! { |taken| taken.part.equal?(part) }
        @parts.delete_if { |one| one.equal?(part) }
        part.store.remove
      end

      def fetch
        part = first or return
        segments = part.store.segments
        entries, last = segments.read(segments.after(part.taken), CHUNK)
        if entries
          SegmentedLog.each_entry(entries) do |number, bytes|
            (message = unpack(bytes)) && @ready << [number, message]
          end
        end
        part.taken = entries ? last : segments.last if @ready.empty? # the disk has spoilt them
      rescue Errno::ENOENT
        forget(part)
      end
    end
    private_constant :SpoolTransport
  end
end
