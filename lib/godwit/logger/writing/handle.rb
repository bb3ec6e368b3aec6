# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # What a logger and its clones share: the {Sender} or {DurableWriter} of the current process. A
    # forked child gets another one when it logs first. A Handle itself handles no record.
    class Handle
      class << self
        # An interrupt (`Timeout`) must not leave a locked folder or a bound port without an owner.
        # So interrupts wait until the block has the handle.
        def open(endpoint, **options)
          handle = nil
          Keywords.check(Settings, options, Logger)
          settings = Settings.new(endpoint, **options)
          Thread.handle_interrupt(Object => :never) { yield(handle = new(settings)) }
          done = true
        ensure
          handle&.current&.close(Timeout.now, 0) unless done # the writer gets no linger
        end

        # The garbage collector must not wait for linger, so a new thread closes the sender. A
        # sender that never started has nothing to send. While a process exits, no thread can start.
        def finalizer(held)
          proc do
            sender = held[0]
            Thread.new { sender.close } if sender.at_work? && sender.alive?
          end
        end
      end

      def initialize(settings)
        @settings = settings
        @warnings = Warnings.new(settings.endpoint)
        @reopening = Mutex.new
        @earlier = [] # stats of the senders that {#reopen} closed
        @held = [new_sender] # the finalizer has a reference to this Array, not to the Handle
        ObjectSpace.define_finalizer(self, Handle.finalizer(@held))
        Registry.add(self)
        return unless settings.bind? || settings.durable
        # An address or a folder in use raises an error now, and not at the first record.
        current.open
        current.start
      end

      attr_reader :settings
      # @return [Sender, DurableWriter] the latest writer, maybe the parent process's
      def current = @held[0]

      # @return [Sender, DurableWriter] this process's writer; its thread runs if one can start
      def sender
        sender = @held[0]
        sender.alive? ? sender : recreate(sender)
      end

      # If the sender is closed, waits for another thread's {#reopen}. Returns whether it is open.
      def replaced?
        return true unless sender.closed?
        return false unless @reopening.locked? && !@reopening.owned?
        @reopening.synchronize { !current.closed? }
      rescue ThreadError
        false # this is a trap handler, which cannot lock the mutex
      end

      # Counts a record that came after the close.
      def count_late
        current.sequence.late
        @warnings.call("it is closed: records are dropped")
        !@settings.durable
      end

      def flush(seconds)
        Timeout.check(seconds)
        current.flush((seconds if seconds && seconds < Timeout::MAX))
      end

      def stats
        [*@earlier, current.stats].reduce do |sum, one|
          Stats.new(queued: one.queued, sent: sum.sent + one.sent, spooled: one.spooled,
            dropped: sum.dropped + one.dropped, last_error: one.last_error || sum.last_error)
        end
      end

      def close
        @closed = true
        current.close
      end

      def closed? = @closed ? true : false

      def reopen(settings = nil)
        settings ? move(settings) : replace_closed
        @closed = false
      end

      private

      # Starts the sender's thread; first makes a new sender if this one is closed or the parent's.
      def recreate(sender)
        return sender if @closed
        return sender.tap(&:stop) if Exit.past? # a sender without a thread would store the record
        if !sender.own? || sender.closed?
          # The new sender may have locked a folder, so an interrupt must not lose it.
          Thread.handle_interrupt(Object => :never) do
            fresh = new_sender
            fresh.inherit(sender) if sender.own?
            # CRuby may switch threads before the `?`, but not between the `?` and the assignment.
            @held[0].equal?(sender) ? @held[0] = fresh : fresh.close
          end
          sender = @held[0]
        end
        sender.start
        # A durable writer closes itself if its folder was deleted.
        (sender.closed? && !@closed) ? recreate(sender) : sender
      rescue ThreadError, SystemCallError, NoMemoryError => error # no thread can be created
        @warnings.call("records wait: #{error.message} (#{error.class})")
        sender
      end

      # The new sender exists before the old sender closes, unless they need the same address or
      # folder: then callers wait for the close.
      def move(settings)
        @reopening.try_lock || @reopening.lock
        warnings = Warnings.new(settings.endpoint)
        former = current
        fresh = new_sender(settings, warnings) unless settings.bind? || settings.durable
        # The settings change before the close: a sender that another thread starts now goes to the
        # new endpoint.
        @settings, @warnings = settings, warnings
        @held[0] = fresh if fresh
        former.close
        replace_closed
        @earlier = [*@earlier, former.stats]
      ensure
        @reopening.unlock if @reopening.owned?
      end

      def replace_closed
        Thread.handle_interrupt(Object => :never) { @held[0] = new_sender if current.closed? }
      end

      def new_sender(settings = @settings, warnings = @warnings)
        (settings.durable ? DurableWriter : Sender).new(settings, warnings)
      end
    end
    private_constant :Handle
  end
end
