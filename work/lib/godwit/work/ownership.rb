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
        dead = @engine.dead_members.except(*@members.each_value.map(&:id))
        @members.each do |klass, member|
          share = @engine.rebalance(member, dead.keys)
          keep(klass, share.kept)
          claimed = share.claims.map { |position| Assignment.new(position, klass) }
          @lock.synchronize { @assignments += claimed }
          claimed.each { |one| bury(one) if one.poison }
          stopping, own = of(klass).partition(&:stopped?)
          own.each { |one| one.paused = share.paused.include?(one.partition) }
          own.last([share.surplus - stopping.size, 0].max).each(&:stop)
        rescue LostError
          of(klass).each { |one| lose(one) }
          renew
          @members[klass] = join(klass)
        end
        dead.each_value { |gone| WakeUp.remove(gone) }
      end

      def of(klass) = @assignments.select { |one| one.klass == klass }

      # An operator may have taken partitions away.
      # @param generations [Hash{Integer => Integer}] by partition
      def keep(klass, generations)
        of(klass).each do |one|
          lose(one) unless generations[one.partition] == one.position.generation
        end
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

      # Releases the stopped partitions that no worker runs, and whose progress is committed.
      def give_up
        return if @assignments.none?(&:stopped?)
        commit
        ended = @assignments.select { |one| one.stopped? && one.idle? && !one.changed? }
        ended.each { |one| release(one) }
        @engine.wake_members if ended.any?
      end

      def release(assignment)
        @engine.release(assignment.position)
        forget(assignment)
      rescue LostError
        forget(assignment)
      end

      def forget(assignment) = @lock.synchronize { @assignments -= [assignment] }

      # Another member has it: its running records have no effect here.
      def lose(assignment)
        assignment.stop
        forget(assignment)
        @client.events.emit(:lost, topic: assignment.topic.name, partition: assignment.partition)
      end
    end
  end
end
