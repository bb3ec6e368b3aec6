# frozen_string_literal: true

module Godwit
  class Auth
    # The threads that run blocks. Questions go first; of notices one runs at a time, so that they
    # keep their order and take one thread at most.
    # @private
    class Workers
      # Questions, and notices, that may wait.
      MOST_WAITING = 10_000
      private_constant :MOST_WAITING

      # @param most [Integer] threads
      # @param dropped [#call] is called for a notice that finds no room
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
      # @return [Boolean] whether it may wait
      def ask(question) = add(@questions, question)

      # @param notice [#call]
      def tell(notice)
        @dropped.call unless add(@notices, notice) || @closed
      end

      # What waits is dropped, what runs goes on to its end.
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
          return false if @closed || list.size >= MOST_WAITING
          list << job
          start if @idle < ready && @threads < @most
          @changed.signal
        end
        true
      end

      # Jobs that a thread could begin now.
      def ready = @questions.size + ((@noticing || @notices.empty?) ? 0 : 1)

      def start
        @threads += 1
        Worker.new { work }.tap do |thread|
          thread.name = "godwit auth worker"
          thread.report_on_exception = false
        end
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
        # A block may end its thread.
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
