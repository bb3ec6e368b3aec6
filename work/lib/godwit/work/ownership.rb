# frozen_string_literal: true

module Godwit
  module Work
    # Which partitions a {Runner} has: it claims its share, gives up what is too much after a
    # commit, and forgets what it has lost.
    # @private
    module Ownership
      private

      # Takes over from dead processes, and claims or marks the partitions of its share.
      def rebalance
        evicted = evict
        @members.each do |klass, member|
          share = @engine.rebalance(member, evicted.map(&:id)) or next
          keep(klass, share.kept)
          take_over(klass, share.claims)
          stopping, own = of(klass).partition(&:stopped?)
          own.each { |one| one.pause(:operator, share.paused.include?(one.partition)) }
          own.select { |one| share.surplus.include?(one.partition) }
            .last([share.surplus.size - stopping.size, 0].max).each(&:stop)
        rescue LostError
          lose(of(klass))
          renew
          @members[klass] = join(klass)
        end
        evicted.each { |one| @silent.evicted(one) }
      end

      # @return [Array<Listed>] members of other processes that live and have not
      #   reported for too long
      def evict
        return [] if @engine.lacks.include?(:evict)
        own = @members.each_value.map(&:id)
        others = @engine.members.select { |one| one.alive && !own.include?(one.id) }
        @silent ||= SilentProcesses.new(@client.events, nil)
        readers = @members.each_value.map { |member| [member.group, member.topic.name] }
        @silent.own(@silent.look(others, now), readers)
      end

      def of(klass) = @assignments.select { |one| one.klass == klass }

      # An operator may have taken partitions away.
      # @param generations [Hash{Integer => Integer}] by partition
      def keep(klass, generations)
        lose(of(klass).reject { |one| generations[one.partition] == one.position.generation })
      end

      # No record runs before the hook `assigned` has ended.
      # @param positions [Array<Position>] that this process claimed
      def take_over(klass, positions)
        return if positions.empty?
        claimed = positions.map { |position| Assignment.new(position, klass) }
        claimed.each { |one| one.pause(:hook) }
        claimed.each { |one| one.pause(:quiet) } if @quiet
        @lock.synchronize { @assignments += claimed }
        claimed.each do |one|
          moved(one, :assigned)
          bury_or_report(one) if one.poison
        end
        commit if claimed.any?(&:changed?) # the next end of the process must not undo it
        hook(:assigned, claimed) do
          claimed.each { |one| one.resume(:hook) }
          work_available
        end
      end

      # @param assignments [Array<Assignment>] of one class, or none: then there is no call
      # @param after [Proc] runs when the hook has ended, or there is none
      def hook(name, assignments, &after)
        return if assignments.empty?
        @hooks.fetch(assignments[0].klass).call(name, assignments.map(&:partition).sort, &after)
      end

      # If the record cannot be read now, it runs alone once more.
      def bury_or_report(assignment)
        bury(assignment)
      rescue Error => error
        report(error)
      end

      # The record has ended its process three times.
      def bury(assignment)
        message = @client.message_at(assignment.topic, assignment.partition,
          assignment.poison) or return
        error = StateError.new("the process ended three times while this record ran")
        DeadLetter.bury(@client, assignment, message, error: error,
          attempts: assignment.position.crashes) do |letters|
          assignment.skip(message, letters)
        end
      end

      # Releases the stopped partitions that no worker runs, and whose progress is committed, when
      # their hook has ended.
      def give_up
        return if @assignments.none?(&:stopped?)
        commit
        revoke
        ended = @assignments.select { |one| one.revoked == :done }
        return if ended.empty?
        @engine.release(ended.map(&:position))
        ended.each do |one|
          forget(one)
          moved(one, :released)
        end
      end

      def revoke
        drained = @assignments.select do |one|
          one.stopped? && !one.lost? && one.idle? && !one.changed? && !one.revoked
        end
        drained.group_by(&:klass).each_value do |own|
          own.each { |one| one.revoked = :called }
          hook(:revoked, own) { own.each { |one| one.revoked = :done } }
        end
      end

      def forget(assignment) = @lock.synchronize { @assignments -= [assignment] }

      # @param what [Symbol] :assigned, :released or :lost
      def moved(one, what)
        position = one.position
        @client.events.emit(:moved, what: what, group: position.group, topic: one.topic.name,
          partition: one.partition, offset: position.watermark)
      end

      # Other members have them: their running records have no effect here.
      def lose(assignments)
        assignments.each do |one|
          one.lose
          forget(one)
          @client.events.emit(:lost, topic: one.topic.name, partition: one.partition)
          moved(one, :lost)
        end
        assignments.reject(&:revoked).group_by(&:klass).each_value { |own| hook(:lost, own) }
      end
    end
  end
end
