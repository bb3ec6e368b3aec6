# frozen_string_literal: true

require_relative "../../worker"
require_relative "../warnings"
require_relative "../wire/record"
require_relative "../durable/segmented_log"
require_relative "journal"
require_relative "../durable/send_window"
require_relative "../wire/packing"

module Godwit
  class Logger < ::Logger
    # Writes the records of durable writers (`Godwit::Logger.new(endpoint, durable: folder)`) into a
    # file: each record once, in order per writer, even if processes are killed in between. `godwit
    # log serve --durable-in` runs one.
    #
    #   file = Godwit::Logger::Sink.new("app.log", rotate: :daily, keep: 14)
    #   receiver = Godwit::Logger::Receiver.new("tcp://127.0.0.1:7003", file)
    #   receiver.sink.write(records)          # other records for the same file go through here
    #   receiver.close
    #
    # The receiver acknowledges a record when it is in the file and in a journal beside the file
    # (app.log.journal). At the start it truncates the file to the journal's position;
    # unacknowledged records come again. This holds against kill -9 of either side, and against a
    # power cut with `fsync: true` on both. Records are duplicated or lost if the journal is
    # deleted, or replaced by an older copy.
    #
    # Its thread runs from {#initialize} to {#close}. **Threads**: any may call. **Fork**: the
    # receiver stays with the parent.
    class Receiver
      extend Keywords

      BATCH = 64
      MAX_FRAME = 1 << 20 # bytes of one frame: a writer's chunk, or a longer record
      HWM = 256 # queued messages of each writer, which sends up to 256 KiB at once
      MAX_BYTES = 4 << 20 # bytes after which a batch is written
      FORWARD_HWM = 256 # records queued for `forward:`
      # Seconds to wait when that queue is full; then records are skipped until it takes one again.
      CLOSE_TIMEOUT = 0.5
      SLICE = 0.05 # seconds between two looks for close
      private_constant :BATCH, :MAX_FRAME, :HWM, :MAX_BYTES, :FORWARD_HWM, :CLOSE_TIMEOUT, :SLICE

      # Integers: records `written`, come `again`, `foreign`, `forwarded` and `not_forwarded`; bytes
      # `cut` off the file at the start. `last_error`: Exception or nil.
      Stats = Struct.new(:written, :again, :foreign, :forwarded, :not_forwarded, :cut, :last_error,
        keyword_init: true)

      # Binds the endpoint and starts the thread.
      # @param endpoint [String] to bind
      # @param sink [Sink] a regular file, owned by the receiver from now on
      # @param forward [String, #send_nonblock, nil] an endpoint or socket that gets each record
      #   after it was written, as three frames: a broadcaster's input. It misses records that it
      #   does not take within half a second
      # @param context [Context, nil] nil: the process's own
      # @param options [Hash] of the ROUTER socket (`curve:`…); of each writer's messages
      #   `recv_hwm:` (256) wait, each of `max_message_size:` (1 MiB) at most
      # @raise [AddressInUseError] and other errors of {Godwit::Socket::Endpoints#bind}
      # @raise [BusyError] when another process has the file's journal
      # @raise [ArgumentValueError] when the sink is no regular file
      def initialize(endpoint, sink, forward: nil, context: nil, **options)
        raise Errors.bad_type(:receiver, "the sink", "a Logger::Sink", sink) unless sink.is_a?(Sink)
        @pid = Process.pid
        @written = @again = @foreign = @forwarded = @not_forwarded = 0
        @warnings = Warnings.new(sink.path)
        common = {context: context || Godwit.context, linger: Context::BRIEF_LINGER}
        @socket = ROUTER.new(**common, max_message_size: MAX_FRAME, recv_hwm: HWM, **options)
        @socket.bind(endpoint)
        @own_forward = PUSH.new(**common, send_hwm: FORWARD_HWM) if forward.is_a?(::String)
        @forward = @own_forward ? @own_forward.connect(forward) : forward
        @sink = Journal.new(sink)
        Thread.handle_interrupt(Object => :never) { @thread = Worker.new { run } }
        @thread.name = "godwit log receiver"
      rescue
        @own_forward&.close
        @socket&.close
        raise
      end

      # Writes other records into the same file: it has `write(records)`, `reopen` and `close`. It
      # skips records of durable writers that come back from a broadcaster.
      # @return [#write, #reopen, #close]
      attr_reader :sink
      # @return [String]
      def last_endpoint = @socket.last_endpoint
      # @return [Integer, nil] the bound port
      def port = @socket.port

      # @return [Stats]
      def stats
        Stats.new(written: @written, again: @again, foreign: @foreign, forwarded: @forwarded,
          not_forwarded: @not_forwarded, cut: @sink.cut, last_error: @last_error)
      end

      # Ends the thread. The writers send unacknowledged records again to the next receiver. The
      # sink stays open: `sink.close` closes it. A second call does nothing.
      # @return [nil]
      def close
        return if @pid != Process.pid
        @socket.close
        @thread.join
        @own_forward&.close
        nil
      end

      # @return [Boolean]
      def closed? = @socket.closed?
      # @return [String]
      def inspect = "#<#{self.class.name} #{@sink.sink.path}#{" (closed)" if closed?}>"

      private

      def run
        loop do
          messages = Thread.handle_interrupt(Object => :on_blocking) { @socket.recv_many(BATCH) }
          begin_batch
          take(messages)
        end
      rescue ClosedError, ContextTerminatedError
        nil
      end

      # The thread survives every other error: unacknowledged records come again.
      def take(messages)
        messages.each { |message| handle(message) }
        commit
      rescue ClosedError, ContextTerminatedError
        raise
      rescue => error
        report(error)
      end

      def begin_batch
        @entries = []
        @peers = {}
        @last_sequences = {}
        @bytes = 0
      end

      def report(error)
        @last_error = error
        @warnings.call("#{error.message} (#{error.class})")
      end

      def handle(message)
        peer, verb, key, value, rest = message
        number = Wire.value(value)
        if !message.is_a?(Array) || key&.bytesize != 16 || number.nil?
          @foreign += 1
        elsif verb == Wire::DATA && rest
          data(peer, key, number, rest)
        elsif verb == Wire::HELLO
          commit
          answer(peer, Wire::WELCOME, key, Wire.number(@sink.handshake(key, number)))
        else
          @foreign += 1
        end
      end

      def data(peer, key, before, bytes)
        last = @last_sequences[key] || @sink.last(key)
        return answer(peer, Wire::WHAT, key, Wire.number(last || 0)) if last.nil? || before > last
        SegmentedLog.each_entry(bytes) do |seq, record|
          next @again += 1 if seq <= last
          last = seq
          record = Record.parse(Packing.frames(record) || record) || Record.parse(record)
          @entries << [key, seq, record]
        end
        @last_sequences[key] = last
        @peers[key] = peer
        @bytes += bytes.bytesize
        commit if @bytes > MAX_BYTES
      end

      # Acknowledges records after they are in the file and the journal.
      def commit
        return if @peers.empty?
        write
        @peers.each { |key, peer| answer(peer, Wire::ACK, key, Wire.number(@sink.last(key))) }
        forward_entries if @forward
      ensure
        begin_batch
      end

      def write
        before = @sink.sink.written
        @sink.write_durable(@entries) unless @entries.empty?
        @written += @entries.size
      rescue Error => error
        raise if error.is_a?(ClosedError)
        report(error)
        @peers.each { |key, peer| answer(peer, Wire::TROUBLE, key, error.message.b) }
        @entries = @entries.first(@sink.sink.written - before)
        @written += @entries.size
      end

      def answer(peer, verb, key, value)
        @socket.send_nonblock([peer, verb, key, value], exception: false)
      rescue UnreachableError
        nil # the writer has disconnected
      end

      def forward_entries
        @entries.each_with_index do |(_, _, record), index|
          return @not_forwarded += @entries.size - index unless forwarded?(record.frames)
          @forwarded += 1
        end
      rescue Error => error
        raise if closed?
        report(error)
      end

      def forwarded?(frames)
        while @forward.send_nonblock(frames, exception: false) == :wait_writable
          finish ||= Timeout.now + (@unresponsive ? 0 : CLOSE_TIMEOUT)
          @unresponsive = Timeout.now >= finish
          return false if @unresponsive || closed? || !@forward.respond_to?(:wait_writable)
          @forward.wait_writable(SLICE)
        end
        @unresponsive = false
        true
      end
    end
  end
end
