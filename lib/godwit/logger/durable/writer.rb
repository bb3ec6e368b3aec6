# frozen_string_literal: true

require_relative "../encoder"
require_relative "../exit"
require_relative "../flush_token"
require_relative "../base_writer"
require_relative "../drop_counter"
require_relative "durable_sender"
require_relative "sequence_counter"
require_relative "store"

module Godwit
  class Logger < ::Logger
    # One process's end of a durable logger: each record is in a {Store} before the call returns; a
    # {DurableSender} brings it to the receiver. It knows no Logger, so that the garbage collector
    # can take that.
    #
    # What a trap handler logs cannot wait for the lock: the sender stores it, in a moment.
    # @private
    class DurableWriter < BaseWriter
      BYTES = 1 << 30
      SEGMENT_BYTES = 4 << 20
      # Files, at least, for as many bytes as are allowed.
      PARTS = 8
      # Records of trap handlers that wait to be stored.
      MOST_QUEUED = 10_000

      # What another thread raises in one that waits is none of the logger's faults, which nobody is
      # told of by an error: its `cause` goes on.
      # It inherits from Exception so that it passes every rescue.
      class Interruption < Exception # standard:disable Lint/InheritException
      end

      # @param warnings [#call]
      # @raise [BusyError] when another process has the folder
      def initialize(settings, warnings)
        check(settings)
        super
        @most = settings.durable_bytes || BYTES
        @lock = Mutex.new
        @freed = ConditionVariable.new
        @queue = Thread::Queue.new
        @waiting = @stored = @gone = 0
        open_store
      end

      # @return [Integer] records that were in a folder which somebody deleted
      attr_reader :gone

      # @return [nil] there are none here
      def lines = nil

      # For {Handle}, which closes what it has not begun.
      def transport = self

      def open = nil

      def alive? = own? && !@deleted && @sender&.alive?

      # While it lingers its store is open, and takes what is logged.
      def closed? = @sealed ? true : false

      # Anew, if its thread was killed.
      def start
        return if @closing || !own?
        first_with(@starting) do
          # It takes over folders.
          Thread.handle_interrupt(Object => :never) { begin_sender unless @closing || alive? }
        end
      rescue => error
        trouble(error)
      end

      # Those that the other had lost are told of as dropped.
      def inherit(other)
        @drops.inherit(other.gone)
      end

      # Callers.
      # @param entry [Array] see {Encoder}
      # @return [Boolean, Symbol, nil] whether it is stored; :sealed: nothing was done, another has
      #   to take it; nil: a trap handler's, which is stored in a moment
      def push(entry, _bytes)
        # A kill that came once the record is stored may not spare the sender its wake-up.
        Thread.handle_interrupt(Object => :never) do
          stored = @lock.synchronize { take(entry) }
          @sender&.wake
          stored
        rescue ThreadError
          enqueue(entry)
          nil
        end
      end

      # @return [Stats] sent: acknowledged
      def stats
        return Stats.new(queued: 0, sent: 0, dropped: 0, spooled: 0) unless own?
        waiting = pending
        Stats.new(
          queued: waiting + @queue.size, sent: @stored - [waiting, @stored].min,
          dropped: @drops.total + @gone, spooled: 0, last_error: @last_error
        )
      end

      # Waits until all that was logged before has been acknowledged.
      # @param seconds [Numeric, nil] nil: for ever
      # @return [Boolean]
      def flush(seconds)
        return pending.zero? unless own? && alive?
        finish = seconds && Timeout.now + seconds
        @lock.synchronize do
          goal = @store.segments.last
          waiting do
            while @store.segments.released < goal && !@closing &&
                (finish.nil? || Timeout.now < finish)
              wait(finish)
            end
          end
          @store.segments.released >= goal
        end
      rescue Interruption => interruption
        raise interruption.cause
      rescue ThreadError
        pending.zero? && @queue.empty? # a trap handler cannot wait
      end

      # Takes no more. Needs no lock.
      def stop = @closing = true

      private

      def begin_sender
        return abandon if deleted?
        Exit.watch(self) unless @sender
        inner = Store.leftovers(File.realpath(@settings.durable))
        @sender =
          DurableSender.new(
            @settings, [@store, *inner], turn: method(:store_queued), trouble: method(:trouble),
            progress: method(:progress)
          )
        @sender.start
      end

      def finish(deadline)
        @sender&.stop([deadline - Timeout.now, 0].max)
        Thread.handle_interrupt(Object => :never) do
          @finished = true
          conclude
        rescue ThreadError
          # A trap handler, which can wait for no lock: this thread may have it.
          Thread.new { conclude }.join(1)
        end
      end

      # @raise [ThreadError] in a trap handler, with nothing done
      def conclude
        store_queued
        return forget if deleted?
        rest = nil
        seal { rest = pending }
        @incomplete = rest.positive?
        if rest.positive?
          @warnings.call(
            "#{Text.count(rest, "is", "are")} kept in #{@store.folder} for the next start",
            always: true
          )
        end
      end

      # From here on nothing is stored, and another may have the folder. Callers that wait for room
      # or acknowledgements go on.
      # @raise [ThreadError] in a trap handler, with nothing done
      def seal
        @lock.synchronize do
          @sealed = true
          @freed.broadcast
          yield
        ensure
          @store.close if @sealed
        end
      end

      def deleted? = !File.exist?(File.join(@store.folder, Lock::NAME))

      # {Handle} takes another, which makes the folder again.
      def abandon
        Thread.handle_interrupt(Object => :never) do
          @closing = @finished = true
          @sender&.stop(0)
          forget
        rescue ThreadError
          Thread.new { forget }.join(1) # a trap handler
        end
      end

      # @raise [ThreadError] in a trap handler, with nothing done
      def forget
        seal { @gone = pending }
        if @gone.positive?
          @warnings.call(
            "#{Text.count(@gone, "was", "were")} in #{@store.folder}, which is gone", always: true
          )
        end
      end

      def check(settings)
        unless %i[drop_new block].include?(settings.overflow)
          raise Errors.bad_value(
            :logger, "overflow: with durable:", ":drop_new or :block", settings.overflow
          )
        end
        if settings.plain?
          raise Errors.bad_value(:logger, "wire: with durable:", ":records", settings.wire)
        end
        if settings.bind?
          raise Errors.bad_value(:logger, "bind: with durable:", "false: the receiver binds", true)
        end
        unless settings.durable.is_a?(::String)
          raise Errors.bad_type(:logger, "durable:", "the path of a folder", settings.durable)
        end
        bytes = settings.durable_bytes
        if bytes && !(bytes.is_a?(Integer) && bytes.positive?)
          raise Errors.bad_value(:logger, "durable_bytes:", "an Integer, 1 or more", bytes)
        end
      end

      def open_store
        known = {}
        size = [SEGMENT_BYTES, @most / PARTS + 1].min # the last file stays, and must leave room
        @store = Store.open(@settings.durable, segment_bytes: size, fsync: @settings.fsync,
          note: -> { SequenceCounter.record(@encoder.topics) }) do |seq, record|
          SequenceCounter.remember(known, seq, record)
        end
        @encoder = SequenceCounter.new(@settings, @store.id, @store.segments.last, known)
        @drops = DropCounter.new(@encoder)
      end
    end
    private_constant :DurableWriter
  end
end
require_relative "storing"
