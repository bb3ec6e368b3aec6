# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # Closes the writers at the process's end. Each process registers an at_exit block of its own: a
    # block that a forked child has inherited from its parent closes nothing in the child.
    module Exit
      AGAIN = 0.05 # seconds for a close that begins after linger has passed
      AGAIN_FOR = 0.3 # seconds in which writers may start, after linger has passed

      @writers = Thread::Queue.new
      @registered = nil # pid of the process that has registered its at_exit block
      @over = {} # pid => true, once the process's exit has begun

      class << self
        # Registers a writer that has started. This method needs no lock, as a trap handler may log
        # the first record.
        def watch(writer)
          forget_others if @writers.size > 32
          @writers << writer
          return if @registered == Process.pid
          # The FFI backend's at_exit block closes all contexts: registered first, it runs last.
          Godwit.context if BACKEND == :ffi
          pid = @registered = Process.pid
          unless over? # a forked child gets values of its own
            @incomplete = false
            @last = @others_last = Float::INFINITY
          end
          at_exit do
            @over[pid] = true # comes first, since Ruby handles no interrupt before the `if`
            close_all if pid == Process.pid
          end
        end

        # Whether this process ends: Ruby then kills threads until none is left, so a killed thread
        # must not be replaced.
        def over? = @over.key?(Process.pid)
        # Whether it is too late to start a writer, so that a thread cannot log for ever.
        def past? = over? && Timeout.now > ((Thread.current == Thread.main) ? @last : @others_last)

        private

        def forget_others
          @writers.size.times do
            writer = @writers.pop(true)
            @writers << writer unless writer.ended?
          end
        rescue ThreadError
          nil
        end

        # The program's later at_exit blocks may log: then a new writer registers an at_exit block.
        def close_all
          @registered = nil
          writers = Array.new(@writers.size) { @writers.pop(true) }.reject(&:ended?)
          now = Timeout.now
          fresh, interrupted = writers.partition(&:at_work?)
          fresh.each(&:stop)
          fresh.each { |writer| @incomplete ? writer.close(now, AGAIN) : writer.close(now) }
          interrupted.each { |writer| writer.close(now, AGAIN) }
          @incomplete ||= writers.any?(&:incomplete?)
          @last = [@last, Timeout.now + AGAIN_FOR].min if @incomplete
          @others_last = [@others_last, @last, *writers.map { now + _1.settings.linger }.max].min
        rescue ThreadError
          nil
        end
      end
    end
    private_constant :Exit
  end
end
