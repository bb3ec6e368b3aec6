# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # Counts the unacknowledged records of a {DiskQueue}. A difference of sequence numbers (seqs)
    # would count too many: a dropped record has a seq too, and so has a record that reports drops.
    #
    # {#add} needs the writer's lock. A trap handler may call the other methods: they only read.
    class Backlog
      # `count` records of earlier processes are on the disk; `last` is the seq of the last one.
      def initialize(last, count)
        @earlier_last = last
        @earlier = count
        @runs = [] # [first, last] seq of each gapless range of this process's records
        @added = 0
      end

      # Counts a stored record.
      def add(seq, released)
        @added += 1
        run = @runs.last
        return run[1] = seq if run && run[1] == seq - 1
        @runs = @runs.drop_while { |_, last| last <= released } << [seq, seq]
      end

      # How many records of this process are acknowledged, if all up to the seq `released` are.
      def acknowledged(released) = @added - own(released)

      def waiting(released)
        own(released) + (@earlier_last - released).clamp(0, @earlier)
      end

      private

      def own(released)
        @runs.sum { |first, last| [last - [first - 1, released].max, 0].max }
      end
    end
    private_constant :Backlog
  end
end
