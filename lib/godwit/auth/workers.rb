# frozen_string_literal: true

module Godwit
  class Auth
    # The threads that run blocks. Questions run before notices. One notice runs at a time, so
    # notices keep their order and occupy one thread at most.
    # @private
    class Workers
      # Notices that wait.
      MAX_NOTICES = 10_000
      private_constant :MAX_NOTICES

      # @param most [Integer] threads
      # @param dropped [#call] is called after a notice was dropped
      def initialize(most, dropped)
        @most = most
        @dropped = dropped
        @lock = Mutex.new
        @changed = ConditionVariable.new
        @questions = QuestionQueue.new
        @notices = []
        @noticing = nil
        @idle = 0
        @threads = 0
        @closed = false
      end

      # @param question [Question]
      # @return [Symbol, nil] why the question does not wait: :crowded (its address has too many),
      #   :full, :closed or :no_thread
      def ask(question)
        @lock.synchronize do
          next :closed if @closed
          refused = @questions.add(question) and next refused
          next if wake
          @questions.remove(question)
          :no_thread
        end
      end

      # Removes a question that waits for a worker.
      # @param question [Question]
      def remove(question) = @lock.synchronize { @questions.remove(question) }

      # @param notice [#call]
      def tell(notice)
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
          [@questions, @notices].each(&:clear)
          @changed.broadcast
        end
      end

      # @return [Integer] threads, for the tests
      def size = @lock.synchronize { @threads }

      private

      # @return [Boolean] false: no thread exists, and none could start
      def wake
        start_if_needed
        @changed.signal
        @threads.positive?
      end

      def start_if_needed = (start if @idle < waiting && @threads < @most)

      # @return [Integer] jobs that a thread could begin, or could begin after others have ended
      def waiting = @questions.size + ((@noticing || @notices.empty?) ? 0 : 1)

      # At the process's limit of threads, the jobs wait for the workers that exist.
      def start
        thread = Worker.new { work }
        @threads += 1
        thread.name = "godwit auth worker"
        thread.report_on_exception = false
      rescue ThreadError
        nil
      end

      def work
        while (job = take)
          begin
            job.call
          ensure
            ended(job)
          end
        end
      ensure
        # A block may end its thread, so a new thread replaces it.
        @lock.synchronize do
          @threads -= 1
          start_if_needed unless @closed
        end
      end

      def take
        @lock.synchronize do
          @idle += 1
          @changed.wait(@lock) until @closed || (job = next_job)
          job
        ensure
          @idle -= 1
        end
      end

      def next_job
        free = @most - @questions.running - (@noticing ? 1 : 0)
        question = @questions.take(free)
        return question if question || @noticing
        @noticing = @notices.shift
      end

      # Several jobs may have waited for the end of this one.
      def ended(job)
        @lock.synchronize do
          if @noticing.equal?(job)
            @noticing = nil
          else
            @questions.ended(job)
          end
          @changed.broadcast
        end
      end
    end
    private_constant :Workers
  end
end
