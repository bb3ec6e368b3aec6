# frozen_string_literal: true

require_relative "../worker"
require_relative "warnings"
require_relative "record"
require_relative "segmented_log"
require_relative "durable/journal"
require_relative "durable/wire"
require_relative "packing"

module Godwit
  class Logger < ::Logger
    # Takes the records of durable writers (`Godwit::Logger.new(endpoint, durable: folder)`) into a
    # file: each once, in order per writer, whatever is killed in between. `godwit log serve
    # --durable-in` has one.
    #
    #   file = Godwit::Logger::Sink.new("app.log", rotate: :daily, keep: 14)
    #   receiver = Godwit::Logger::Receiver.new("tcp://127.0.0.1:7003", file)
    #   receiver.sink.write(records)          # other records for the same file go through here
    #   receiver.close
    #
    # A record is acknowledged once it is in the file, and a journal beside it (app.log.journal)
    # says so. At the start the file is cut where the journal says; what was not acknowledged then
    # comes again. That holds against kill -9 of either side; against a power cut with `fsync: true`
    # on both. What holds not: who deletes the journal, or takes a copy of it back, gets records
    # twice or not at all.
    #
    # Its thread runs from {#initialize} to {#close}. **Threads**: any may call. **Fork**: a child
    # has no part in it.
    class Receiver
      extend Keywords

      BATCH = 64
      # Bytes of one frame: a writer's chunk, and a record that is longer.
      MOST_FRAME = 1 << 20
      # Messages of each writer that wait; it sends 256 KiB at once.
      HWM = 256
      # Bytes that are written in one go, about.
      MOST_BYTES = 4 << 20
      # Records that wait to be handed on.
      FORWARD_HWM = 256
      # Seconds that a slow taker has when so many wait. Then the rest is left out, until it takes
      # one again.
      PATIENCE = 0.5
      SLICE = 0.05
      private_constant :BATCH, :MOST_FRAME, :HWM, :MOST_BYTES, :FORWARD_HWM, :PATIENCE, :SLICE

      # Integers: records `written`, come `again`, `foreign`, `forwarded` and `not_forwarded`; bytes
      # that the start `cut` off the file. `last_error`: Exception or nil.
      Stats =
        Struct.new(
          :written, :again, :foreign, :forwarded, :not_forwarded, :cut, :last_error,
          keyword_init: true
        )

      # Binds the endpoint and begins.
      # @param endpoint [String] to bind
      # @param sink [Sink] a regular file, which is the receiver's from now on
      # @param forward [String, #send_nonblock, nil] an endpoint or socket that gets each record
      #   once more, as three frames, after it was written: a broadcaster's input. What that does
      #   not take within half a second is left out there
      # @param context [Context, nil] nil: the process's own
      # @param options [Hash] of the ROUTER socket (`curve:`…); of each writer's messages
      #   `recv_hwm:` (256) wait, each of `max_message_size:` (1 MiB) at most
      # @raise [AddressInUseError] and other errors of {Godwit::Socket#bind}
      # @raise [BusyError] when another process has the file's journal
      # @raise [ArgumentValueError] when the sink is no regular file
      def initialize(endpoint, sink, forward: nil, context: nil, **options)
        unless sink.is_a?(Sink)
          raise Errors.bad_type(:receiver, "the sink", "a Godwit::Logger::Sink", sink)
        end
        @pid = Process.pid
        @written = @again = @foreign = @forwarded = @not_forwarded = 0
        @warnings = Warnings.new(sink.path)
        @context = context || Godwit.context
        @socket =
          ROUTER.new(
            context: @context, linger: Context::BRIEF_LINGER, max_message_size: MOST_FRAME,
            recv_hwm: HWM, **options
          )
        @socket.bind(endpoint)
        if forward.is_a?(::String)
          @own_forward =
            PUSH.new(
              context: @context, linger: Context::BRIEF_LINGER, send_hwm: FORWARD_HWM
            )
        end
        @forward = @own_forward ? @own_forward.connect(forward) : forward
        @sink = Journal.new(sink)
        Thread.handle_interrupt(Object => :never) { @thread = Worker.new { run } }
        @thread.name = "godwit log receiver"
      rescue
        @own_forward&.close
        @socket&.close
        raise
      end

      # Where records that are not durable are written into the same file: it has `write(records)`,
      # `reopen` and `close`. Records of durable writers that come back here from a broadcaster are
      # left out.
      # @return [#write, #reopen, #close]
      attr_reader :sink

      # @return [String]
      def last_endpoint = @socket.last_endpoint

      # @return [Integer, nil] port that it listens on
      def port = @socket.port

      # @return [Stats]
      def stats
        Stats.new(
          written: @written, again: @again, foreign: @foreign, forwarded: @forwarded,
          not_forwarded: @not_forwarded, cut: @sink.cut, last_error: @last_error
        )
      end

      # Ends; what has come and was not written comes again when one is started anew. The sink stays
      # open: `sink.close` closes it. A second call does nothing.
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

      # It outlives every error: what was not acknowledged comes again.
      def take(messages)
        messages.each { |message| hear(message) }
        commit
      rescue ClosedError, ContextTerminatedError
        raise
      rescue => error
        trouble(error)
      end

      def begin_batch
        @entries = []
        @heard = {}
        @lasts = {}
        @bytes = 0
      end

      def trouble(error)
        @last_error = error
        @warnings.call("#{error.message} (#{error.class})")
      end

      def hear(message)
        peer, verb, key, value, rest = message
        number = Wire.value(value)
        if !message.is_a?(Array) || key&.bytesize != 16 || number.nil?
          @foreign += 1
        elsif verb == Wire::DATA && rest
          data(peer, key, number, rest)
        elsif verb == Wire::HELLO
          commit
          answer(peer, Wire::WELCOME, key, Wire.number(@sink.greet(key, number)))
        else
          @foreign += 1
        end
      end

      def data(peer, key, before, bytes)
        last = @lasts[key] || @sink.last(key)
        return answer(peer, Wire::WHAT, key, Wire.number(last || 0)) if last.nil? || before > last
        SegmentedLog.each_entry(bytes) do |seq, record|
          next @again += 1 if seq <= last
          last = seq
          @entries << [
            key, seq, Record.parse(Packing.frames(record) || record) || Record.parse(record)
          ]
        end
        @lasts[key] = last
        @heard[key] = peer
        @bytes += bytes.bytesize
        commit if @bytes > MOST_BYTES
      end

      # Nothing is acknowledged before it is in the file, and the journal says so.
      def commit
        return if @heard.empty?
        write
        @heard.each { |key, peer| answer(peer, Wire::ACK, key, Wire.number(@sink.last(key))) }
        hand_on if @forward
      ensure
        begin_batch
      end

      def write
        before = @sink.sink.written
        @sink.write_durable(@entries) unless @entries.empty?
        @written += @entries.size
      rescue Error => error
        raise if error.is_a?(ClosedError)
        trouble(error)
        @heard.each { |key, peer| answer(peer, Wire::TROUBLE, key, error.message.b) }
        @entries = @entries.first(@sink.sink.written - before)
        @written += @entries.size
      end

      # To one that is gone it goes nowhere.
      def answer(peer, verb, key, value)
        @socket.send_nonblock([peer, verb, key, value], exception: false)
      rescue UnreachableError
        nil
      end

      def hand_on
        @entries.each_with_index do |(_, _, record), index|
          unless handed_on?(record.frames)
            @not_forwarded += @entries.size - index
            break
          end
          @forwarded += 1
        end
      rescue Error => error
        raise if closed?
        trouble(error)
      end

      def handed_on?(frames)
        while @forward.send_nonblock(frames, exception: false) == :wait_writable
          finish ||= Timeout.now + (@unresponsive ? 0 : PATIENCE)
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
