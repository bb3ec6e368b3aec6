# frozen_string_literal: true

require_relative "durable/store"
require_relative "durable/wire"
require_relative "push_outlet"

module Godwit
  class Logger < ::Logger
    # A {PushOutlet} that puts on the disk what the socket does not take, and sends that, in order, before anything newer. What a process leaves there is sent by
    # the next that uses the folder, as it is: under its own id and numbers. Each process has a folder of its own within.
    # @private
    class SpoolOutlet
      BYTES = 1 << 30
      SEGMENT_BYTES = 1 << 20
      # Bytes that are sent in one go: more than a batch of new ones has, so that the rest shrinks.
      CHUNK = 1 << 18
      # Seconds that the socket has, before records go to the disk.
      PATIENCE = 0.05
      LINE = "L"
      FRAMES = "F"

      # @raise [SystemError] when the folder cannot be made
      def initialize(settings, complaint)
        @push = PushOutlet.new(settings)
        @complaint = complaint
        @lost = 0
        @folder = settings.spool
        @most = settings.spool_bytes || BYTES
        raise Errors.bad_type(:logger, "spool:", "the path of a folder", @folder) unless @folder.is_a?(::String)
        raise Errors.bad_value(:logger, "spool_bytes:", "an Integer, 1 or more", @most) unless @most.is_a?(Integer) && @most.positive?
        make_folder
        @stores = []
        @ready = [] # messages of the first store that come next
        @mute = true # until the socket has taken something
      end

      # @return [Integer] records that were here, until somebody deleted the folder
      attr_reader :lost

      # @raise [Error]
      def open
        @push.open
        @stores = Store.leftovers(@folder) if @stores.empty?
      end

      # As {PushOutlet#deliver}; what goes to the disk has gone.
      def deliver(messages, from)
        @push.open
        replay
        return put(messages, from) if backlog?
        sent = @push.deliver(messages, from)
        @mute = false if sent.positive?
        return sent if sent.positive?
        return 0 unless @mute # it has {PATIENCE}
        put(messages, from)
      end

      # Waits until some may go, or {PATIENCE} is over.
      def wait(seconds = PATIENCE)
        @mute = !@push.wait(seconds)
      end

      # @return [Boolean] whether something is on the disk
      def backlog? = !@stores.empty?

      # Sends some of it, once that is possible.
      # @param seconds [Numeric] to wait for the socket
      def replay_soon(seconds)
        Thread.handle_interrupt(Object => :immediate) { @push.wait(seconds) } && replay
      end

      # @return [Integer] records on the disk, as far as their numbers tell
      def spooled = @stores.sum { |store| [store.segments.last - store.segments.released, 0].max }

      # @param seconds [Numeric] in which what libzmq holds, and what is on the disk, may still go
      # @return [Boolean] whether it all went, or is on the disk
      def close(seconds)
        finish = Timeout.now + seconds
        replay_soon([finish - Timeout.now, 0].max) while backlog? && Timeout.now < finish
        forget_deleted
        left = spooled
        all = @push.close([finish - Timeout.now, 0].max)
        @stores.each(&:close)
        @stores = []
        left.zero? ? all : left
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
        return 0 if @stores.sum { |store| store.segments.bytes } >= @most
        make_folder unless File.directory?(@folder)
        @own = Store.within(@folder, segment_bytes: [SEGMENT_BYTES, @most / 8 + 1].min) unless @stores.include?(@own)
        segments = @own.segments
        number = segments.last
        entries = messages.drop(from).map { |message| Segments.entry(number += 1, pack(message)) }
        segments.append(entries.join, number)
        @stores << @own unless @stores.include?(@own)
        messages.size - from
      rescue Errno::ENOSPC, Errno::EDQUOT, Errno::EFBIG
        0 # as with its own bound
      end

      def pack(message) = message.is_a?(::String) ? LINE + message.b : FRAMES + Wire.pack(message)

      def unpack(bytes) = bytes.start_with?(LINE) ? bytes.byteslice(1..) : Wire.unpack(bytes.byteslice(1..))

      # Hands over what goes without waiting, but no more than {CHUNK}.
      def replay
        forget_deleted
        return unless backlog?
        fetch if @ready.empty?
        return unless backlog?
        sent = @ready.empty? ? 0 : @push.deliver(@ready.map(&:last), 0)
        @mute = false if sent.positive?
        done = @ready.shift(sent)
        @stores.first.segments.release(done.last.first) unless done.empty?
        finish_store if @ready.empty? && @stores.first.segments.empty?
      end

      def forget_deleted = @stores.reject { |store| File.directory?(store.folder) }.each { |store| forget(store) }

      # Its records are gone; another is begun when one is needed.
      def forget(store)
        @ready = [] if store.equal?(@stores.first)
        @stores.delete(store)
        count = store.segments.last - store.segments.released
        @lost += count
        @complaint.call("#{Text.count(count, "was", "were")} in #{store.folder}, which is gone")
        store.remove
      end

      def fetch
        segments = @stores.first.segments
        entries, = segments.read(segments.after(segments.released), CHUNK)
        return segments.release(segments.last) unless entries # the disk has spoilt the rest
        Segments.each_entry(entries) { |number, bytes| (message = unpack(bytes)) && @ready << [number, message] }
        segments.release(entries.unpack1("Q>", offset: 8)) if @ready.empty?
      rescue Errno::ENOENT
        forget(@stores.first)
      end

      def finish_store = @stores.shift.remove
    end
    private_constant :SpoolOutlet
  end
end
