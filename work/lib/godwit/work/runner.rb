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
      TICK = 0.25 # seconds between two looks at the other members and at the file
      COMMIT = 0.1 # seconds
      CHUNK = 256 # records that a worker takes at most
      GRAIN = 0.005 # seconds that a worker should be busy with them
      private_constant :TICK, :COMMIT, :CHUNK, :GRAIN

      # @param classes [Array<Class>] of {Consumer}
      # @param client [Client]
      # @param workers [Integer] threads
      # @param drain [Numeric] seconds for running handlers at the end
      # @raise [ArgumentValueError]
      # @raise [StateError] for a class without a handler or a topic, and for two classes with one
      #   topic and group
      def initialize(classes, client: Work.client, workers: 5, drain: 25)
        Godwit::Errors.check_positive(:run, "workers:", "threads, 1 or more", workers)
        check(classes)
        @classes = classes
        @client = client
        @engine = client.engine
        @committer = Committer.new(@engine, client.events)
        @count = workers
        @drain = drain
        @lock = Mutex.new
        @available = ConditionVariable.new
        @assignments = []
        @ending = @quiet = false
      end

      # Runs until {#stop}.
      # @return [nil]
      # @raise [Error] of the engine, at the beginning
      def run
        @wake_up = @engine.listen
        @loop = Loop.new
        @members = @classes.to_h { |klass| [klass, join(klass)] }
        @workers = Array.new(@count) { worker }
        coordinate
        nil
      ensure
        finish
      end

      # Lets running handlers finish, then ends {#run}. From any thread.
      # @return [nil]
      def stop
        @ending = true
        @loop&.post { @loop.stop }
        nil
      end

      # @return [Boolean] whether it has joined its groups
      def started? = !@workers.nil?

      # Takes no new records. From any thread.
      # @return [nil]
      def quiet
        @quiet = true
        nil
      end

      private

      def check(classes)
        raise Godwit::Errors.bad_value(:run, "classes", "consumers, 1 or more", classes) if
          classes.empty?
        classes.each(&:batches?)
        twice = classes.group_by { |klass| [klass.settings.topic, klass.group_name] }
          .values.find { |same| same.size > 1 } or return
        raise Godwit::Errors.of(StateError, :run, "#{twice.join(" and ")} have one topic and " \
          "group: give one of them another group")
      end

      def join(klass)
        topic = klass.declare(@client)
        if (dead = klass.dead_letters)
          @client.topic(dead, **klass.settings.topic_settings.slice(:format))
        end
        starts = @client.starts(topic, klass.settings.start_from)
        @engine.join(klass.group_name, topic, @wake_up.place, starts)
      end

      def coordinate
        @loop.readable(@wake_up.io) do
          @wake_up.clear
          fetch
        end
        @loop.every(TICK) { tick }
        @loop.every(COMMIT) { commit }
        @loop.on_error { |error| report(error) }
        tick
        @loop.run unless @ending
      end

      def tick
        rebalance
        give_up
        fetch
      end

      # Takes over from dead processes, and claims or marks the partitions of its share.
      def rebalance
        dead = @engine.members.reject { |_, place| WakeUp.alive?(place) }
        @members.each do |klass, member|
          claims, surplus = @engine.rebalance(member, dead.keys)
          claimed = claims.map { |position| Assignment.new(position, klass) }
          claimed.each { |one| bury(one) if one.poison }
          @lock.synchronize { @assignments.concat(claimed) }
          own = @assignments.select { |one| one.klass == klass && !one.stopped? }
          stopping = @assignments.count { |one| one.klass == klass && one.stopped? }
          own.last([surplus - stopping, 0].max).each(&:stop)
        rescue LostError
          @assignments.select { |one| one.klass == klass }.each { |one| lose(one) }
          @members[klass] = join(klass)
        end
        dead.each_value { |place| WakeUp.remove(place) }
      end

      # The record has ended its process three times.
      def bury(assignment)
        message = @client.read(assignment.topic, assignment.partition, assignment.poison)
          .flat_map { |source| source.messages(assignment.poison) }.first or return
        group = assignment.position.group
        topic = assignment.klass.dead_letters
        error = StateError.new("the process ended three times while this record ran")
        assignment.skip(message, DeadLetter.make(@client, topic, message, error: error,
          attempts: assignment.position.crashes, group: group))
        @client.events.emit(:dead, message: message, error: error, topic: topic,
          attempts: assignment.position.crashes)
      end

      # Releases the stopped partitions that no worker runs.
      def give_up
        ended = @assignments.select { |one| one.stopped? && one.idle? }
        return if ended.empty?
        commit
        ended &= @assignments
        ended.each { |one| @engine.release(one.position) }
        @lock.synchronize { @assignments -= ended }
        @engine.wake_members
      end

      def fetch
        now = Timeout.now
        version = @engine.version
        waiting = @assignments.count do |one|
          one.wake(now)
          read(one, version) if one.hungry? && one.exhausted != version
          one.waiting > 0
        end
        @lock.synchronize { @available.broadcast } if waiting > 0
      end

      def read(assignment, version)
        sources = @client.read(assignment.topic, assignment.partition, assignment.fetched)
          .select { |source| source.finish > assignment.fetched }
        assignment.exhausted = version if sources.empty?
        sources.each { |source| assignment.feed(source) if assignment.hungry? }
      end

      def commit = @committer.commit(@assignments).each { |one| lose(one) }

      # Another member has it: its running records have no effect here.
      def lose(assignment)
        assignment.stop
        @lock.synchronize { @assignments -= [assignment] }
        @client.events.emit(:lost, topic: assignment.topic.name, partition: assignment.partition)
      end

      def report(error) = @client.events.emit(:error, error: error)

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
        commit
        @isolating = @assignments.any? { |one| one.isolated? && !one.idle? }
      end

      # A handler has ended its thread.
      def replace
        settle
        @workers.select!(&:alive?)
        @workers << worker while @workers.size < @count && !@ending
      end

      def finish
        @ending = true
        @assignments.each(&:stop)
        @lock.synchronize { @available.broadcast }
        deadline = Timeout.now + @drain
        @workers&.each { |thread| thread.join([deadline - Timeout.now, 0].max) }
        return unless @members
        commit
        @members.each_value { |member| @engine.leave(member) }
        @engine.wake_members
      ensure
        @workers&.each(&:kill)
        @loop&.close
        @wake_up&.close
      end

      # @return [Thread]
      def worker
        Worker.new do
          handlers = {}
          size = 1
          while (assignment, taken = next_work(size))
            handler = handlers[assignment] ||= Handler.new(assignment, @client, @committer)
            start = Timeout.now
            records = taken.sum { |_, messages| messages.size }
            note(assignment, taken) if assignment.isolated?
            taken.each { |lane, messages| handler.run(lane, messages) }
            size = chunk(size, records, Timeout.now - start)
            handlers.delete_if { |one, _| one.stopped? }
            after_batch
          end
        ensure
          @loop.post { replace } unless @ending
        end
      end

      # In a process one isolated record runs at a time, and the commit before the next removes the
      # note: only the record that ends the process is noted then.
      def note(assignment, taken)
        @engine.note(assignment.position, taken[0][1][0].offset)
      rescue Error => error
        report(error) # the commit will fail, too
      end

      # So many records that other workers wait for them for a few milliseconds at most.
      def chunk(size, records, seconds)
        return [size * 2, CHUNK].min if seconds < GRAIN / 2
        (GRAIN * records / seconds).clamp(1, CHUNK).to_i
      end

      # @return [Array(Assignment, Array), nil] nil: the end
      def next_work(size)
        @lock.synchronize do
          until @ending
            @assignments.rotate!.each do |one|
              next if @quiet || (one.isolated? && @isolating)
              taken = one.take(size, 1 + one.waiting / @count) or next
              @isolating = true if one.isolated?
              return [one, taken]
            end
            @available.wait(@lock)
          end
        end
      end
    end
  end
end
