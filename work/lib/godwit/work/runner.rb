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
      private_constant :TICK, :COMMIT, :RETAIN, :CHUNK, :GRAIN

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
        @turns = Turns.new(workers, method(:now))
        @stopping = Thread::Queue.new
        @handled = @waiting = @settle_at = 0
        @ending = @quiet = false
      end

      # Runs until {#stop}, once.
      # @return [nil]
      # @raise [StateError] at another call
      # @raise [Error] of the engine, at the beginning
      # @raise [ClosedError] when the log was closed meanwhile, as by another Work.connect, or
      #   another process has this one's `instance:`
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

      def path = @wake_up.path

      # Others take a process for dead that they cannot wake.
      def renew
        return unless @wake_up.lost?
        @loop.remove(@wake_up.io)
        @wake_up.close
        @wake_up = @engine.listen
        watch
      end

      def now = Timeout.now
      def taken? = @turns.untouched?

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

      def settle
        return unless now >= @settle_at || @turns.alone&.idle?
        commit
        @settle_at = now + @engine.commit_every
      end

      # After the commit of a record that ran alone others may run.
      def commit
        alone = @turns.alone if @turns.alone&.idle?
        alone&.remove_note
        super
        return if alone.nil? || (alone.changed? && !alone.lost?)
        @lock.synchronize { @turns.finish }
        work_available
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
        @assignments.each { |one| moved(one, :released) }
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
          chunk = @lock.synchronize { @turns.chunk }
          handlers = {}
          size = 1
          while (assignment = next_work(chunk, size))
            handler = handlers[assignment] ||= handler(assignment)
            alone = assignment.equal?(@turns.alone)
            note(assignment, chunk.lanes) if alone
            start = Timeout.now
            records = left = 0
            watched.handler = handler
            while (lane, messages = chunk.lanes.shift)
              records += messages.size
              handler.run(lane, messages)
              left += messages.size
            end
            watched.handler = chunk.assignment = nil
            seconds = Timeout.now - start
            assignment.ran_alone(seconds) if alone
            size = next_size(size, records, seconds)
            @lock.synchronize { @handled += records - left }
            handlers.delete_if { |one, _| one.stopped? }
            after_batch
          end
        ensure
          # A handler has ended its thread, or the process ends.
          @lock.synchronize { @turns.delete(chunk) }
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

      # @param chunk [Turns::Chunk] gets what the worker runs next
      # @return [Assignment, nil] nil: the end
      def next_work(chunk, size)
        @lock.synchronize do
          until @ending
            found = @turns.take(chunk, @assignments, size) unless @quiet
            return found if found
            @waiting += 1
            @available.wait(@lock)
            @waiting -= 1
          end
        end
      end
    end
  end
end
