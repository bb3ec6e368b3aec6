# frozen_string_literal: true

module Godwit
  class Auth
    # The threads that run blocks. Questions run before notices. One notice runs at a time, so
    # notices keep their order and occupy one thread at most.
    # @private
    class Workers
      # Length of each of the two queues.
      MAX_WAITING = 10_000
      private_constant :MAX_WAITING

      # @param most [Integer] threads
      # @param dropped [#call] is called after a notice was dropped
      def initialize(most, dropped)
        @most = most
        @dropped = dropped
        @lock = Mutex.new
        @changed = ConditionVariable.new
        @questions = []
        @notices = []
        @noticing = false
        @idle = 0
        @threads = 0
        @closed = false
      end

      # @param question [#call]
      # @return [Boolean] false: closed, the queue is full, or no thread could start
      def ask(question) = add(@questions, question)

      # @param notice [#call]
      def tell(notice)
        @dropped.call unless add(@notices, notice) || @closed
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

      def add(list, job)
        @lock.synchronize do
          return false if @closed || list.size >= MAX_WAITING
          list << job
          start if @idle < ready && @threads < @most
          if @threads.zero?
            list.pop
            next false
          end
          @changed.signal
          true
        end
      end

      # @return [Integer] jobs that a thread could begin now
      def ready = @questions.size + ((@noticing || @notices.empty?) ? 0 : 1)

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
          start if !@closed && @idle < ready
        end
      end

      def take
        @lock.synchronize do
          @idle += 1
          @changed.wait(@lock) until @closed || ready.positive?
          next if @closed
          next @questions.shift if @questions.any?
          @noticing = @notices.shift
        ensure
          @idle -= 1
        end
      end

      def ended(job)
        @lock.synchronize do
          next unless @noticing.equal?(job)
          @noticing = false
          @changed.signal
        end
      end
    end
    private_constant :Workers
  end
end
