# frozen_string_literal: true

module Godwit
  module Work
    # The threads of a {Runner} that run handlers.
    #
    # **Threads**: any.
    # @private
    class Workers
      CHUNK = 256 # most records that a worker gets at a time
      GRAIN = 0.005 # seconds that a worker should need for the records that it gets at a time

      # @param count [Integer] of threads
      def initialize(count)
        @count = count
        @turns = Turns.new(count, Timeout.method(:now))
        @lock = Mutex.new
        @available = ConditionVariable.new
        @handled = @waiting = 0
        @ending = @quiet = false
      end

      # @return [Integer] records that handlers have finished, dead letters included
      attr_reader :handled

      # @param loop [Loop] of the coordinator
      # @yield in the worker's thread, each time when it has run the records that it got
      def start(coordinator, stuck, loop, &after)
        @coordinator = coordinator
        @stuck = stuck
        @loop = loop
        @after = after
        @threads = Array.new(@count) { worker }
      end

      def started? = !@threads.nil?

      # @return [Thread, nil] a worker that has not ended
      def alive = @threads&.find(&:alive?)

      # Lets no worker get more records.
      def stop = @ending = true

      # Lets no worker get more records. The workers wait until the runner stops.
      def quiet = @quiet = true
      def kill = @threads&.each(&:kill)

      # @param lanes [Integer] the number of lanes that wait for a worker
      def wake(lanes = @count)
        return if lanes.zero?
        idle = @lock.synchronize do
          [lanes, @count].min.times { @available.signal }
          @waiting == @count
        end
        Thread.pass if idle # lets the worker run before this thread waits
      end

      # @return [Boolean] whether a worker has lanes that it has not begun
      def untouched? = @turns.untouched?

      # @return [Assignment, nil] the assignment whose record ran alone and has ended
      def ran_alone = @turns.alone&.then { |one| one if one.idle? }

      # Lets other records run, since the record that ran alone is committed.
      def finish_alone
        @lock.synchronize { @turns.finish }
        wake
      end

      private

      def worker
        Worker.new do
          watched = @stuck.watch
          chunk = @lock.synchronize { @turns.chunk }
          handlers = {}
          size = 1
          while (assignment = next_work(chunk, size))
            handler = handlers[assignment] ||= @coordinator.handler(assignment)
            records, seconds = run(chunk, handler, watched)
            size = next_size(size, records, seconds)
            handlers.delete_if { |one, _| one.stopped? }
            @after.call
          end
        ensure
          # A handler has ended this thread, or the runner stops.
          @lock.synchronize { @turns.delete(chunk) }
          chunk.lanes.each { |lane, messages| chunk.assignment.give_back(lane, messages) }
          ended = Thread.current
          @loop.post { replace(ended) } unless @ending
        end
      end

      # @return [Array(Integer, Float)] the number of records, and the seconds that they took
      def run(chunk, handler, watched)
        assignment = handler.assignment
        alone = assignment.equal?(@turns.alone)
        @coordinator.note(assignment, chunk.lanes) if alone
        start = Timeout.now
        records = unfinished = 0
        watched.handler = handler
        while (lane, messages = chunk.lanes.shift)
          records += messages.size
          handler.run(lane, messages)
          unfinished += messages.size
        end
        watched.handler = chunk.assignment = nil
        seconds = Timeout.now - start
        assignment.ran_alone(seconds) if alone
        @lock.synchronize { @handled += records - unfinished }
        [records, seconds]
      end

      # @return [Integer] the number of records that should take about GRAIN seconds
      def next_size(size, records, seconds)
        return [size * 2, CHUNK].min if seconds < GRAIN / 2
        (GRAIN * records / seconds).clamp(1, CHUNK).to_i
      end

      # @param chunk [Turns::Chunk] gets the lanes that the worker runs next
      # @return [Assignment, nil] nil: the runner stops
      def next_work(chunk, size)
        @lock.synchronize do
          until @ending
            found = @turns.assign(chunk, @coordinator.assignments, size) unless @quiet
            return found if found
            @waiting += 1
            @available.wait(@lock)
            @waiting -= 1
          end
        end
      end

      # Starts a worker in place of a worker whose handler has ended its thread.
      # @param thread [Thread] the ended worker's, which may be alive for a moment
      def replace(thread)
        @coordinator.settle
        @threads.delete(thread)
        @threads << worker unless @ending
      end
    end
  end
end
