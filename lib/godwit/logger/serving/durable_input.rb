# frozen_string_literal: true

require_relative "../durable/journal"

module Godwit
  class Logger < ::Logger
    # Receives the messages of durable writers ({Wire}), writes their records through a journal, and
    # then acknowledges them. A record that comes again is not written again.
    class DurableInput
      MESSAGES = 64 # messages that one call receives
      MAX_FRAME = 1 << 20 # most bytes of one frame: a writer's chunk of records, or one long record
      HWM = 256 # most queued messages of a writer, which sends chunks of up to 256 KiB
      MAX_BYTES = 4 << 20 # bytes of records after which a batch is written

      # Options of the input's socket, a ROUTER.
      OPTIONS = {
        max_message_size: MAX_FRAME, recv_hwm: HWM, linger: Context::BRIEF_LINGER
      }.freeze

      # @yieldparam records [Array<Record>] records that are in the file now
      def initialize(socket, journal, &publish)
        @socket = socket
        @journal = journal
        @publish = publish
        @warnings = Warnings.new(journal.path)
        @written = @again = @foreign = 0
        begin_batch
      end

      attr_reader :socket, :written, :again, :foreign, :error

      # Receives messages. Errors do not end the input: writers send unacknowledged records again.
      def receive
        messages = @socket.recv_many(MESSAGES, timeout: 0, exception: false) or return false
        messages.each { |message| handle(message) }
        commit
        true
      rescue ClosedError, ContextTerminatedError
        raise
      rescue => error
        report(error)
        begin_batch
        true
      end

      private

      def begin_batch
        @entries = []
        @peers = {} # the peer of each writer whose records are in this batch
        @last_sequences = {}
        @bytes = 0
      end

      def report(error)
        @error = error
        @warnings.call("#{error.message} (#{error.class})")
      end

      def handle(message)
        peer, verb, key, value, rest = message
        number = Wire.value(value)
        if !message.is_a?(Array) || key&.bytesize != LoggerConstants::ID_BYTES || number.nil?
          @foreign += 1
        elsif verb == Wire::DATA && rest
          data(peer, key, number, rest)
        elsif verb == Wire::HELLO
          commit
          answer(peer, Wire::WELCOME, key, Wire.number(@journal.handshake(key, number)))
        else
          @foreign += 1
        end
      end

      def data(peer, key, before, bytes)
        last = @last_sequences[key] || @journal.last(key)
        return answer(peer, Wire::WHAT, key, Wire.number(last || 0)) if last.nil? || before > last
        SegmentedLog.each_entry(bytes) do |seq, packed|
          next @again += 1 if seq <= last
          last = seq
          record = Record.parse(Packing.frames(packed) || packed) || Record.parse(packed)
          @entries << Journal::Entry.new(key, seq, record)
        end
        @last_sequences[key] = last
        @peers[key] = peer
        @bytes += bytes.bytesize
        commit if @bytes > MAX_BYTES
      end

      # Acknowledges records after they are in the file and the journal.
      def commit
        return if @peers.empty?
        records = write
        @written += records.size
        @peers.each { |key, peer| answer(peer, Wire::ACK, key, Wire.number(@journal.last(key))) }
        @publish&.call(records) unless records.empty?
      ensure
        begin_batch
      end

      def write
        before = @journal.sink.written
        entries = @entries
        @journal.write_durable(entries) unless entries.empty?
        entries.map(&:record)
      rescue Error => error
        raise if error.is_a?(ClosedError)
        report(error)
        @peers.each { |key, peer| answer(peer, Wire::TROUBLE, key, error.message.b) }
        entries.first(@journal.sink.written - before).map(&:record)
      end

      def answer(peer, verb, key, value)
        @socket.send_nonblock([peer, verb, key, value], exception: false)
      rescue UnreachableError
        nil # the writer has disconnected
      end
    end
    private_constant :DurableInput
  end
end
