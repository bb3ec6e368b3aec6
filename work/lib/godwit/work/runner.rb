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
      TICK = 0.25 # seconds between two rebalances
      COMMIT = 0.1 # seconds between two commits
      RETAIN = 60 # seconds between two deletions of old records
      private_constant :TICK, :COMMIT, :RETAIN

      # @param classes [Array<Class>] subclasses of {Consumer}
      # @param client [Client]
      # @param workers [Integer] number of threads that run handlers
      # @param drain [Numeric, nil] seconds for handlers and hooks after {#stop}; nil: no limit
      # @param evict_after [Numeric, nil] seconds, more than 1, after which a process that does not
      #   report loses its partitions; nil: never
      # @raise [ArgumentValueError]
      # @raise [StateError] for a class without a handler or a topic, and for two classes with one
      #   topic and group
      def initialize(classes, client: Work.client, workers: 5, drain: 25, evict_after: nil)
        check(workers, drain, evict_after)
        @classes = classes
        @client = client
        @engine = client.engine
        @workers = Workers.new(workers)
        @drain = Declaration.finite(drain)
        @coordinator = Coordinator.new(classes, client, @workers,
          evict_after: Declaration.finite(evict_after)) { path }
        Contract.need(@engine, :evict) if evict_after
        @lock = Mutex.new
        @stopping = Thread::Queue.new
        @ending = false
      end

      # Runs the consumers until {#stop}. A runner runs only once.
      # @return [nil]
      # @raise [StateError] at the second call
      # @raise [Error] when the engine fails at the start
      # @raise [ClosedError] when the log is closed during the call, as by another Work.connect, or
      #   another process uses the `instance:` of this process
      def run
        began = begin_once
        @wake_up = @engine.listen
        @loop = Loop.new
        @coordinator.join
        @stuck = StuckHandlers.new(@engine, @client.events, -> { @wake_up.report }) do
          @coordinator.members
        end
        @stuck.start
        @limit = limit if @drain
        @workers.start(@coordinator, @stuck, @loop) { after_chunk }
        coordinate
        nil
      ensure
        finish if began
      end

      # Lets running handlers finish, then ends {#run}. Any thread may call it.
      # @return [nil]
      def stop
        @ending = true
        @workers.stop
        @stopping << true
        @loop&.post { @loop.stop }
        nil
      rescue Godwit::ClosedError # the loop has ended
        nil
      end

      # @return [Integer] records that the runner's handlers have finished, dead letters included
      def handled = @workers.handled

      # @return [Boolean] whether the runner has joined its groups
      def started? = @workers.started?

      # Lets no further record begin. Running records finish. Any thread may call it.
      # @return [nil]
      def quiet
        @workers.quiet
        @coordinator.quiet
        @loop&.post { @coordinator.quiet } # again, for partitions that were claimed meanwhile
        nil
      rescue Godwit::ClosedError # the loop has ended
        nil
      end

      # @return [String]
      def inspect = "#<#{self.class} #{@classes.join(", ")}>"

      private

      def check(workers, drain, evict_after)
        Godwit::Errors.check_positive(:run, "workers:", "threads, 1 or more", workers)
        if drain && (Declaration.finite(drain) || -1) < 0
          raise Godwit::Errors.bad_value(:run, "drain:", "seconds, 0 or more, or nil", drain)
        end
        return if evict_after.nil? || (Declaration.finite(evict_after) || 0) > 1
        raise Godwit::Errors.bad_value(:run, "evict_after:", "seconds, more than 1, or nil",
          evict_after)
      end

      # A runner runs once: its workers and members cannot be used again.
      def begin_once
        @lock.synchronize do
          return @began = true unless @began
        end
        raise Godwit::Errors.of(StateError, :run, "this runner runs already, or has ended: make " \
          "another with Godwit::Work::Runner.new")
      end

      # Starts a thread that kills the workers `drain` seconds after {#stop}: a handler may hang in
      # a transaction, for whose end the coordinator waits. The thread starts before {#stop}, since
      # Ruby's exit would wait for a thread that {#stop} starts.
      def limit
        Worker.new do
          @stopping.pop
          sleep @drain
          @coordinator.stop # so that a killed handler is no failure of its record
          @workers.kill
          @wake_up&.abandon
        end
      end

      # Makes the FIFO again when something has deleted it: other processes consider a process
      # without a FIFO dead.
      # @return [String] the path of the FIFO
      def path
        if @wake_up.lost?
          watched = @loop.remove(@wake_up.io)
          @wake_up.close
          @wake_up = @engine.listen
          watch if watched
        end
        @wake_up.path
      end

      def coordinate
        watch
        @loop.every(TICK) { tick }
        @loop.every(RETAIN) { retain }
        # A closed log ends the loop: else the runner would run on, and own its partitions for ever.
        @loop.on_error do |error|
          error.is_a?(ClosedError) ? raise(error) : @coordinator.report(error)
        end
        tick
        @loop.run unless @ending
      end

      def watch = @loop.readable(@wake_up.io) { fetch(@wake_up.clear) }

      def tick
        @coordinator.rebalance
        @coordinator.give_up
        fetch
      end

      def fetch(partitions = nil)
        @coordinator.fetch(partitions)
        commit_soon
      end

      # Commits every 100 ms while there is work: an idle process has no timer for commits.
      def commit_soon
        return if @committing || @ending || @coordinator.settled?
        @committing = true
        @loop.after(COMMIT) do
          @committing = false
          commit_soon
          @coordinator.commit
        end
      end

      # Posts a call to the coordinator's loop, unless such a call of another worker waits there.
      def after_chunk
        return if @posted || @ending
        @posted = true
        @loop.post do
          @posted = false
          @coordinator.settle
          fetch
        end
      end

      def retain
        more, held = @engine.retain
        return @loop.post { retain } if more
        held.each do |topic, records|
          @client.events.emit(:retention_held, topic: topic, records: records)
        end
      end

      def finish
        @ending = true
        @workers.stop
        start = Timeout.now
        @coordinator.hooks.each_value { |hooks| hooks.call(:stopping) } if started?
        @coordinator.stop
        @workers.wake
        drain(start)
        @coordinator.leave { Timeout.remaining(@drain, start) } if @coordinator.members
      ensure
        [@workers, *@coordinator.hooks&.values, *@stuck, *@limit].each(&:kill)
        @loop&.close
        @wake_up&.close
      end

      # Waits for the workers. Commits during the wait, since a second signal or a kill may end the
      # process.
      def drain(start)
        while (thread = @workers.alive)
          remaining = Timeout.remaining(@drain, start)
          break if remaining&.zero?
          @coordinator.commit unless thread.join([COMMIT, *remaining].min)
        end
      end
    end
  end
end
