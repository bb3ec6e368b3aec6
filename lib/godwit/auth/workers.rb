# frozen_string_literal: true

require_relative "request_queue"

module Godwit
  class Auth
    # The threads that run two kinds of jobs: requests, which call the block of a rule, and notices,
    # which call the block of `on_decision`. Requests run before notices. One notice runs at a time,
    # so notices keep their order and occupy one thread at most.
    class Workers
      MAX_NOTICES = 10_000 # notices that wait for a thread

      # @param run [#call] gets each {Request} whose turn it is
      # @yield after a notice was dropped
      def initialize(most, run, &dropped)
        @most = most
        @run = run
        @dropped = dropped
        @lock = Mutex.new
        @changed = ConditionVariable.new
        @requests = RequestQueue.new
        @notices = []
        @noticing = nil
        @idle = 0
        @threads = 0
        @closed = false
      end

      # @return [Symbol, nil] why the request does not wait: :crowded (its address has too many),
      #   :full, :closed or :no_thread
      def add(request)
        @lock.synchronize do
          next :closed if @closed
          refused = @requests.add(request) and next refused
          next if wake
          @requests.remove(request)
          :no_thread
        end
      end

      # @return [Boolean] whether the request was removed: no worker had begun it
      def remove(request) = @lock.synchronize { @requests.remove(request) }

      def add_notice(notice)
        added = @lock.synchronize do
          next true if @closed
          next false if @notices.size >= MAX_NOTICES
          @notices << notice
          wake || (@notices.pop && false)
        end
        @dropped.call unless added
      end

      # Drops the queued jobs. Running jobs continue to their end.
      def close
        @lock.synchronize do
          @closed = true
          [@requests, @notices].each(&:clear)
          @changed.broadcast
        end
      end

      private

      # @return [Boolean] false: no thread exists, and none could start
      def wake
        start_if_needed
        @changed.signal
        @threads.positive?
      end

      def start_if_needed = (start if @idle < waiting && @threads < @most)

      # @return [Integer] queued jobs that need a thread: all requests, and a notice if none runs
      def waiting = @requests.size + ((@noticing || @notices.empty?) ? 0 : 1)

      # If the system allows no further thread, the jobs wait for the workers that exist.
      def start
        thread = Worker.new { work }
        @threads += 1
        thread.name = "godwit auth worker"
        thread.report_on_exception = false
      rescue ThreadError
        nil
      end

      def work
        while (job = dequeue)
          begin
            job.is_a?(Request) ? @run.call(job) : job.call
          ensure
            ended(job)
          end
        end
      ensure
        # A rule's block may end this thread (Thread.exit): then a new thread replaces it.
        @lock.synchronize do
          @threads -= 1
          start_if_needed unless @closed
        end
      end

      def dequeue
        @lock.synchronize do
          @idle += 1
          @changed.wait(@lock) until @closed || (job = next_job)
          job
        ensure
          @idle -= 1
        end
      end

      def next_job
        free = @most - @requests.running - (@noticing ? 1 : 0)
        request = @requests.dequeue(free)
        return request if request || @noticing
        @noticing = @notices.shift
      end

      # Records the end of a job. Wakes all threads: several jobs may have waited for that end.
      def ended(job)
        @lock.synchronize do
          if @noticing.equal?(job)
            @noticing = nil
          else
            @requests.ended(job)
          end
          @changed.broadcast
        end
      end
    end
    private_constant :Workers
  end
end
