# frozen_string_literal: true

module Godwit
  module Work
    # Runs consumers in this process: a coordinator, which claims partitions, reads and commits, and
    # worker threads, which run handlers.
    #
    #   runner = Godwit::Work::Runner.new([Payments], workers: 16)
    #   Thread.new { sleep 60; runner.stop }
    #   runner.run
    class Runner
      include Coordination
      include Ownership

      TICK = 0.25 # seconds between two looks at the other members and at the file
      COMMIT = 0.1 # seconds
      RETAIN = 60 # seconds between two looks for old records
      CHUNK = 256 # records that a worker takes at most
      GRAIN = 0.005 # seconds that a worker should be busy with them
      # The lanes that a worker has taken and not begun, with their records.
      Chunk = Struct.new(:assignment, :lanes)
      private_constant :TICK, :COMMIT, :RETAIN, :CHUNK, :GRAIN, :Chunk

      # @param classes [Array<Class>] of {Consumer}
      # @param client [Client]
      # @param workers [Integer] threads
      # @param drain [Numeric, nil] seconds for running handlers and hooks at the end; nil: for ever
      # @param evict_after [Numeric, nil] seconds, more than 1, after which a process that does not
      #   report loses its partitions; nil: never
      # @raise [ArgumentValueError]
      # @raise [StateError] for a class without a handler or a topic, and for two classes with one
      #   topic and group
      def initialize(classes, client: Work.client, workers: 5, drain: 25, evict_after: nil)
        check_settings(workers, drain, evict_after)
        check(classes)
        @classes = classes
        @client = client
        @engine = client.engine
        Contract.need(@engine, :evict) if evict_after
        @committer = Committer.new(@engine, client.events)
        @silent = SilentProcesses.new(client.events, Declaration.finite(evict_after))
        @count = workers
        @drain = Declaration.finite(drain)
        @lock = Mutex.new
        @available = ConditionVariable.new
        @assignments = []
        @chunks = []
        @stopping = Thread::Queue.new
        @turn = @handled = @waiting = @settle_at = 0
        @ending = @quiet = false
      end

      # Runs until {#stop}, once.
      # @return [nil]
      # @raise [StateError] at another call
      # @raise [Error] of the engine, at the beginning
      # @raise [ClosedError] when the log was closed meanwhile, as by another Work.connect
      def run
        began = begin_once
        @wake_up = @engine.listen
        @loop = Loop.new
        @hooks = @classes.to_h { |klass| [klass, Hooks.new(klass, @client.events)] }
        @members = @classes.to_h { |klass| [klass, join(klass)] }
        @stuck = StuckHandlers.new(@engine, @client.events, -> { @wake_up.report }) { @members }
        @stuck.start
        @limit = limit if @drain
        @workers = Array.new(@count) { worker }
        coordinate
        nil
      ensure
        finish if began
      end

      # Lets running handlers finish, then ends {#run}. From any thread.
      # @return [nil]
      def stop
        @ending = true
        @stopping << true
        @loop&.post { @loop.stop }
        nil
      rescue Godwit::ClosedError # it has ended
        nil
      end

      # @return [Integer] records that its handlers have finished, dead letters included
      attr_reader :handled

      # @return [Boolean] whether it has joined its groups
      def started? = !@workers.nil?

      # Takes no new records: those that run now finish. From any thread.
      # @return [nil]
      def quiet
        @quiet = true
        @loop&.post { @assignments.each { |one| one.pause(:quiet) } }
        nil
      rescue Godwit::ClosedError # it has ended
        nil
      end

      private

      # The coordinator may wait for a handler that hangs in its transaction. It exists before stop:
      # Ruby's exit waits for a thread that another one starts meanwhile.
      def limit
        Worker.new do
          @stopping.pop
          sleep @drain
          @assignments.each(&:stop) # so that the end is no failure of a record
          @workers&.each(&:kill)
          @wake_up&.abandon
        end
      end

      def place = @wake_up.place

      # Others take a process for dead that they cannot wake.
      def renew
        return unless @wake_up.lost?
        @loop.remove(@wake_up.io)
        @wake_up.close
        @wake_up = @engine.listen
        watch
      end

      def now = Timeout.now
      def taken? = @chunks.any? { |chunk| chunk.lanes.any? }

      def work_available(lanes = @count)
        return if lanes.zero?
        idle = @lock.synchronize do
          [lanes, @count].min.times { @available.signal }
          @waiting == @count
        end
        Thread.pass if idle # the worker need not wait until this thread has nothing to do
      end

      def coordinate
        watch
        @loop.every(TICK) { tick }
        @loop.every(RETAIN) { retain }
        # Without its log it would go on for ever, and keep its partitions.
        @loop.on_error { |error| error.is_a?(ClosedError) ? raise(error) : report(error) }
        tick
        @loop.run unless @ending
      end

      def watch = @loop.readable(@wake_up.io) { fetch(@wake_up.clear) }

      def tick
        rebalance
        give_up
        fetch
      end

      def fetch(partitions = nil)
        super
        commit_soon
      end

      # Every 100 ms while there is work: an idle process has no timer for it.
      def commit_soon
        return if @committing || @ending ||
          @assignments.all? { |one| one.up_to_date?(one.exhausted) }
        @committing = true
        @loop.after(COMMIT) do
          @committing = false
          commit_soon
          commit
        end
      end

      # Once for all workers that ended a batch meanwhile.
      def after_batch
        return if @posted || @ending
        @posted = true
        @loop.post do
          @posted = false
          settle
          fetch
        end
      end

      # After the commit another isolated record may run.
      def settle
        if @isolating || now >= @settle_at
          commit
          @settle_at = now + @engine.commit_every
        end
        @isolating = @assignments.any? { |one| one.isolated? && !one.idle? }
      end

      # A handler has ended its thread.
      # @param worker [Thread] which may live for a moment
      def replace(worker)
        settle
        @workers.delete(worker)
        @workers << self.worker unless @ending
      end

      def finish
        @ending = true
        start = Timeout.now
        @hooks.each_value { |hooks| hooks.call(:stopping) } if @workers
        @assignments.each(&:stop)
        work_available
        drain(start)
        return unless @members
        commit
        revoke
        @hooks.each_value { |hooks| hooks.finish(Timeout.left(@drain, start)) }
        @members.each_value { |member| @engine.leave(member.id) }
      ensure
        [*@workers, *@hooks&.values, *@stuck, *@limit].each(&:kill)
        @loop&.close
        @wake_up&.close
      end

      # Commits while it waits: a second signal or a kill may end the process.
      def drain(start)
        while (thread = @workers&.find(&:alive?))
          left = Timeout.left(@drain, start)
          break if left&.zero?
          commit unless thread.join([COMMIT, *left].min)
        end
      end

      # @return [Thread]
      def worker
        Worker.new do
          watched = @stuck.watch
          chunk = Chunk.new(nil, [])
          @lock.synchronize { @chunks += [chunk] }
          handlers = {}
          size = 1
          while (assignment, taken = next_work(size))
            handler = handlers[assignment] ||= handler(assignment)
            start = Timeout.now
            records = left = 0
            note(assignment, taken) if assignment.isolated?
            watched.handler = handler
            chunk.assignment, chunk.lanes = assignment, taken
            while (lane, messages = taken.shift)
              records += messages.size
              handler.run(lane, messages)
              left += messages.size
            end
            watched.handler = nil
            size = next_size(size, records, Timeout.now - start)
            @lock.synchronize { @handled += records - left }
            handlers.delete_if { |one, _| one.stopped? }
            after_batch
          end
        ensure
          # A handler has ended its thread, or the process ends.
          @lock.synchronize { @chunks = @chunks.reject { |one| one.equal?(chunk) } }
          chunk.lanes.each { |lane, messages| chunk.assignment.give_back(lane, messages) }
          ended = Thread.current
          @loop.post { replace(ended) } unless @ending
        end
      end

      # So many records that other workers wait for them for a few milliseconds at most.
      def next_size(size, records, seconds)
        return [size * 2, CHUNK].min if seconds < GRAIN / 2
        (GRAIN * records / seconds).clamp(1, CHUNK).to_i
      end

      # A lane that another worker has taken, but not begun: its handler takes long.
      # @return [Array(Assignment, Array), nil]
      def take_from_others
        return if @quiet
        @chunks.each do |chunk|
          lane = chunk.lanes.pop unless chunk.assignment&.halted?
          return [chunk.assignment, [lane]] if lane
        end
        nil
      end

      # @return [Array(Assignment, Array), nil] nil: the end
      def next_work(size)
        @lock.synchronize do
          until @ending
            @assignments.rotate(@turn += 1).each do |one|
              next if @quiet || one.waiting.zero? || (one.isolated? && @isolating)
              taken = one.take(size, 1 + one.waiting / @count) or next
              @isolating = true if one.isolated?
              return [one, taken]
            end
            untouched = take_from_others
            return untouched if untouched
            @waiting += 1
            @available.wait(@lock)
            @waiting -= 1
          end
        end
      end
    end
  end
end
