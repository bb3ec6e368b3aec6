# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # Counts the records of a {DiskQueue} that are not acknowledged. Their seqs do not suffice: a
    # refused record has a seq too, and a record that reports drops is no call of the program.
    #
    # {#add} needs the writer's lock. The other methods change nothing, so a trap handler may call
    # them.
    class Backlog
      # `count` records are from earlier processes, and the last of these has this seq.
      def initialize(last, count)
        @earlier_last = last
        @earlier = count
        @runs = [] # first and last seq of records of this process that follow each other
        @added = 0
      end

      # Counts a stored record.
      def add(seq, released)
        @added += 1
        run = @runs.last
        return run[1] = seq if run && run[1] == seq - 1
        @runs = @runs.drop_while { |_, last| last <= released } << [seq, seq]
      end

      # Records of this process that are acknowledged, if all up to the seq `released` is.
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
