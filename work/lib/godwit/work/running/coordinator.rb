# frozen_string_literal: true

module Godwit
  module Work
    # Manages the partitions of one process: it claims the process's share, reads records into
    # assignments, commits them, releases surplus partitions, and drops lost partitions.
    #
    # **Threads**: one. Any thread may call {#quiet}, {#stop}, {#handler} and {#note}.
    # @private
    class Coordinator
      READ = 256 << 10 # approximate bytes that one read returns

      # @param classes [Array<Class>] of {Consumer}
      # @param workers [Workers] or an object with the same methods
      # @param clock [#call] returns monotonic seconds
      # @param threads [Boolean] whether hooks run in threads of their own
      # @param evict_after [Numeric, nil] seconds, see Runner#initialize
      # @yieldreturn [String] the path of the process's FIFO
      # @raise (see Runner#initialize)
      def initialize(classes, client, workers, clock: Timeout.method(:now), threads: true,
        evict_after: nil, &path)
        check(classes)
        @classes = classes
        @client = client
        @events = client.events
        @engine = client.engine
        @workers = workers
        @clock = clock
        @threads = threads
        @path = path
        @committer = Committer.new(@engine, @events)
        @silent = SilentProcesses.new(@events, evict_after)
        @assignments = []
        @quiet = false
        @commit_at = 0
      end

      # @return [Array<Assignment>] the claimed partitions; a new Array after each change
      attr_reader :assignments
      # @return [Hash{Class => Member}, nil] nil before {#join}
      attr_reader :members
      # @return [Hash{Class => Hooks}, nil]
      attr_reader :hooks

      # Joins the groups.
      def join
        @assignments = []
        @hooks = @classes.to_h { |klass| [klass, Hooks.new(klass, @events, thread: @threads)] }
        @members = {}
        @classes.each { |klass| join_group(klass) }
      end

      # Removes dead processes from the groups, claims free partitions up to this process's share,
      # and stops the partitions beyond the share.
      def rebalance
        evicted = evict
        @members.each do |klass, member|
          share = @engine.rebalance(member, evicted.map(&:id)) or next
          drop_moved(klass, share.kept)
          claimed(klass, share.claims)
          stopping, own = of(klass).partition(&:stopped?)
          own.each { |one| one.pause(:operator, share.paused.include?(one.partition)) }
          own.select { |one| share.surplus.include?(one.partition) }
            .last([share.surplus.size - stopping.size, 0].max).each(&:stop)
        rescue LostError
          lose(of(klass))
          join_group(klass)
        end
        evicted.each { |one| @silent.evicted(one) }
      end

      # @param partitions [Array<Integer>, nil] ids of partitions with new records; nil: all
      def fetch(partitions = nil)
        time = @clock.call
        # If ids are given, the version is not read: new records need not wait for that read.
        version = @engine.version unless partitions
        @assignments.each do |one|
          next if partitions && !partitions.include?(one.id)
          one.wake(time)
          read(one, version) if one.hungry? && (partitions || one.exhausted != version)
          @workers.wake(one.waiting)
        end
        @workers.wake(1) if @workers.untouched?
        @hooks.each do |klass, hooks|
          next unless hooks.has?(:idle)
          own = of(klass)
          hooks.idle(!partitions && own.any? && own.all? { |one| one.up_to_date?(version) })
        end
      end

      # Commits if `commit_every` seconds have passed, or a record that ran alone has ended.
      def settle
        return unless @clock.call >= @commit_at || @workers.ran_alone
        commit
        @commit_at = @clock.call + @engine.commit_every
      end

      # Commits all assignments. After the commit of a record that ran alone, other records may run.
      def commit
        alone = @workers.ran_alone
        alone&.remove_note
        lose(@committer.commit(@assignments))
        @workers.finish_alone if alone && (alone.lost? || !alone.changed?)
      end

      # @return [Boolean] whether all fetched records are handled and committed
      def settled? = @assignments.all? { |one| one.up_to_date?(one.exhausted) }

      # Releases the stopped partitions that no worker runs, and whose progress is committed, when
      # their hook `revoked` has ended.
      def give_up
        return if @assignments.none?(&:stopped?)
        commit
        revoke
        ended = @assignments.select { |one| one.revoked == :done }
        return if ended.empty?
        @engine.release(ended.map(&:position))
        @assignments -= ended
        ended.each { |one| moved(one, :released) }
      end

      # Calls the hook `revoked` of stopped partitions that have no running or uncommitted record.
      def revoke
        drained = @assignments.select do |one|
          one.stopped? && !one.lost? && one.idle? && !one.changed? && !one.revoked
        end
        drained.group_by(&:klass).each_value do |own|
          own.each { |one| one.revoked = :called }
          hook(:revoked, own) { own.each { |one| one.revoked = :done } }
        end
      end

      # Lets no further record run until the process ends.
      def stop = @assignments.each(&:stop)

      # Lets no further record run, also in partitions that are claimed later.
      def quiet
        @quiet = true
        @assignments.each { |one| one.pause(:quiet) }
      end

      # Commits, calls the last hooks, and leaves the groups.
      # @param seconds [#call] returns the seconds that remain for hooks; nil: no limit
      def leave(&seconds)
        commit
        revoke
        @hooks.each_value { |hooks| hooks.finish(seconds.call) }
        @members.each_value { |member| @engine.leave(member.id) }
        @assignments.each { |one| moved(one, :released) }
      end

      # @return [Handler] for a worker
      def handler(assignment) = Handler.new(assignment, @client, @committer, @clock)

      # Stores which record runs alone, in case the record ends the process. The commit after the
      # record removes the note.
      # @param lanes [Array<Array(Lane, Array<Message>)>] the lane of the record, with the record
      def note(assignment, lanes)
        @engine.note(assignment.position, lanes[0][1][0].offset)
      rescue LostError
        nil # the next commit will raise LostError
      rescue Error => error
        report(error) # the next commit will fail, too
      end

      def report(error) = @events.emit(:error, error: error)

      private

      def check(classes)
        unless classes.is_a?(Array) && classes.any? &&
            classes.all? { |klass| klass.is_a?(Class) && klass < Consumer }
          raise Godwit::Errors.bad_value(:run, "classes", "an Array of classes of consumers",
            classes)
        end
        classes.each { |klass| check_class(klass) }
        twice = classes.group_by { |klass| [klass.settings.topic, klass.group_name] }
          .values.find { |same| same.size > 1 } or return
        raise Godwit::Errors.of(StateError, :run, "#{twice.join(" and ")} have one topic and " \
          "group: give one of them another group")
      end

      def check_class(klass)
        klass.batches?
        return unless klass.settings.topic && klass.dead_letters == klass.settings.topic
        raise Godwit::Errors.of(StateError, :run, "#{klass}: dead_letter names the class's own " \
          "topic, so its records would run for ever: name another")
      end

      # No interrupt comes between the engine's join and the entry in @members: {#leave} must find
      # each member there.
      def join_group(klass)
        topic = klass.declare(@client)
        @client.dead_letters(klass.dead_letters, topic)
        starts = @client.starts(topic, klass.settings.start_from)
        Thread.handle_interrupt(Object => :on_blocking) do
          @members[klass] = @engine.join(klass.group_name, topic, @path.call, starts)
        end
      end

      # @return [Array<Listed>] members of live processes that have not reported for `evict_after`
      #   seconds, and whose partitions this process may own
      def evict
        return [] if @engine.lacks.include?(:evict)
        own = @members.each_value.map(&:id)
        others = @engine.members.select { |one| one.alive && !own.include?(one.id) }
        readers = @members.each_value.map { |member| [member.group, member.topic.name] }
        @silent.check(others, @clock.call, readers)
      end

      def of(klass) = @assignments.select { |one| one.klass == klass }

      # Drops the assignments whose generation has changed in the engine, as by a seek.
      # @param generations [Hash{Integer => Integer}] by partition, for this process's partitions
      def drop_moved(klass, generations)
        lose(of(klass).reject { |one| generations[one.partition] == one.position.generation })
      end

      # Makes assignments of claimed partitions. Their records run after the hook `assigned` has
      # ended.
      # @param positions [Array<Position>] that this process claimed
      def claimed(klass, positions)
        return if positions.empty?
        claimed = positions.map { |position| Assignment.new(position, klass) }
        claimed.each { |one| one.pause(:hook) }
        claimed.each { |one| one.pause(:quiet) } if @quiet
        @assignments += claimed
        claimed.each do |one|
          moved(one, :assigned)
          bury(one) if one.poison
        end
        commit if claimed.any?(&:changed?) # a crash of the process must not undo the dead letters
        hook(:assigned, claimed) do
          claimed.each { |one| one.resume(:hook) }
          @workers.wake
        end
      end

      # @param assignments [Array<Assignment>] of one class; empty: no hook is called
      # @param after [Proc] runs when the hook has ended, or the class has no such hook
      def hook(name, assignments, &after)
        return if assignments.empty?
        @hooks.fetch(assignments[0].klass).call(name, assignments.map(&:partition).sort, &after)
      end

      # Makes a dead letter of the record that has ended its process three times. If the record
      # cannot be read now, it runs alone once more.
      def bury(assignment)
        message = @client.message_at(assignment.topic, assignment.partition,
          assignment.poison) or return
        error = StateError.new("the process ended three times while this record ran")
        DeadLetter.bury(@client, assignment, message, error: error,
          attempts: assignment.position.crashes) do |letters|
          assignment.skip(message, letters)
        end
      rescue Error => error
        report(error)
      end

      # Reads records of a partition. A damaged block does not stop other partitions.
      def read(assignment, version)
        sources = @client.fetch(assignment.position, assignment.fetched, READ)
          .select { |source| source.finish > assignment.fetched }
        assignment.exhausted = version if sources.empty?
        sources.each do |source|
          next unless assignment.hungry?
          skipped(assignment, source) if source.block.behind_gap
          assignment.feed(source)
        end
      rescue Error => error
        assignment.exhausted = version
        report(error)
      end

      # Emits an event: retention has deleted records that the group has not read.
      def skipped(assignment, source)
        @events.emit(:skipped, topic: assignment.topic.name, partition: assignment.partition,
          from: assignment.fetched, to: source.offset)
      end

      # @param what [Symbol] what has happened to the partition: :assigned, :released or :lost
      def moved(one, what)
        position = one.position
        @events.emit(:moved, what: what, group: position.group, topic: one.topic.name,
          partition: one.partition, offset: position.watermark)
      end

      # Drops partitions that other members own: their running handlers commit nothing more.
      def lose(assignments)
        @assignments -= assignments
        assignments.each do |one|
          one.lose
          @events.emit(:lost, topic: one.topic.name, partition: one.partition)
          moved(one, :lost)
        end
        assignments.reject(&:revoked).group_by(&:klass).each_value { |own| hook(:lost, own) }
      end
    end
  end
end
