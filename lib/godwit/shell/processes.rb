# frozen_string_literal: true

module Godwit
  module Shell
    # The processes of one run, and their end: TERM to the groups, time to go, KILL, and only then
    # are the leaders reaped, so that no signal reaches a number that has become another's. Knows
    # nothing of pipes and rows: it outlives a stream that nobody holds.
    # @private
    class Processes
      # Seconds for the kernel to end what was killed, before a thread of its own waits on.
      KILLED = 5

      # @return [Array<Child>]
      attr_reader :children

      # @param grace [Numeric] seconds between TERM and KILL
      def initialize(grace)
        @grace = grace
        @children = []
        @owner = Process.pid
        @lock = Mutex.new
      end

      # @return [Boolean] whether this process is a fork of the one that started them
      def foreign? = @owner != Process.pid

      def add(child) = @lock.synchronize { @children << child }

      # @return [Boolean] whether all leaders have ended
      def exited? = @lock.synchronize { @children.all?(&:exited?) }

      # @return [Boolean] whether all leaders have been reaped
      def settled? = @lock.synchronize { @children.all?(&:settled?) }

      # @return [Child, nil] one that waits to be given the terminal
      def wanting_terminal = @lock.synchronize { @children.find(&:wants_terminal?) }

      # Sends a signal to all groups.
      def signal(name)
        @lock.synchronize { @children.each { |child| child.signal(name) } } unless foreign?
      end

      # Ends all groups. An interrupt is taken while it waits; then a thread of its own goes on.
      # @param first [Symbol] the signal that they get first
      def stop(first = :TERM)
        return if foreign? || settled?
        Thread.handle_interrupt(Object => :never) do
          signals(first).each do |name, seconds|
            signal(name)
            signal(:CONT) unless name == :KILL # one that is stopped takes no other
            break if ended_within?(seconds)
          end
          reap
        ensure
          settled? ? Reaper.forget(self) : Reaper.take(self)
        end
      end

      private

      def signals(first)
        return {TERM: @grace, KILL: KILLED} if first == :TERM
        {first => @grace / 2.0, :TERM => @grace / 2.0, :KILL => KILLED}
      end

      def reap
        @lock.synchronize { @children.each(&:reap) }
      end

      def ended_within?(seconds)
        finish = Timeout.now + seconds
        loop do
          pids = living
          return true if pids.empty?
          left = finish - Timeout.now
          return false if left <= 0
          Pidfd.wait(pids, left)
        end
      end

      # @return [Array<Integer>] leaders and members of their groups that have not ended
      def living
        @lock.synchronize do
          leaders = @children.reject(&:exited?).map(&:pid)
          return leaders unless leaders.empty?
          groups = @children.reject(&:settled?).map(&:pid)
          groups.empty? ? [] : Members.living(groups)
        end
      end
    end
  end
end
