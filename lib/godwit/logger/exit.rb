# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # Writers that have something to send when the process ends. Each process registers its own end,
    # as a forked child inherits its parent's blocks.
    # @private
    module Exit
      # Seconds for what is logged while the process ends, once linger was waited for in vain: a
      # thread that goes on logging must not have it wait again and again.
      AGAIN = 0.05
      # Seconds after linger in which that is done. JRuby makes threads until its very end, so that
      # such a thread would have a new writer, and an end of it, for ever.
      AGAIN_FOR = 1

      @writers = Thread::Queue.new
      @registered = nil # by which process
      @over = {} # process => true

      class << self
        # A writer has begun. Needs no lock, as the first record may be a trap handler's.
        def watch(writer)
          forget_others if @writers.size > 32
          @writers << writer
          return if @registered == Process.pid
          # The FFI backend closes all contexts in such a block, which must stand before ours.
          Godwit.context if BACKEND == :ffi
          pid = @registered = Process.pid
          @incomplete = @last = nil unless over? # a forked child's own
          at_exit do
            @over[pid] = true # first, as Ruby takes no interrupt before the `if`
            close_all if pid == Process.pid
          end
        end

        # Whether this process ends: threads that it kills need no followers. With one after the
        # other it would never end.
        def over? = @over.key?(Process.pid)

        # Whether nothing begins any more.
        def past? = over? && !@last.nil? && Timeout.now > @last

        private

        def forget_others
          @writers.size.times do
            @writers.pop(true).then { |writer| @writers << writer unless writer.ended? }
          end
        rescue ThreadError
          nil
        end

        # What at_exit blocks log that come after this one begins anew, with a block of its own.
        def close_all
          @registered = nil
          writers = Array.new(@writers.size) { @writers.pop(true) }.reject(&:ended?)
          now = Timeout.now
          fresh, begun = writers.partition(&:at_work?)
          fresh.each(&:stop)
          fresh.each { |writer| @incomplete ? writer.close(now, AGAIN) : writer.close(now) }
          # Waits for the thread that ends it; one that was cut short had its time.
          begun.each { |writer| writer.close(now, AGAIN) }
          @incomplete ||= writers.any?(&:incomplete?)
          @last ||= Timeout.now + AGAIN_FOR if @incomplete
        rescue ThreadError
          nil
        end
      end
    end
    private_constant :Exit
  end
end
