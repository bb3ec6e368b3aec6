# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # What all records of one writer, level and program name have in common, and their count.
    class Stream
      # @param prog [String, nil] the program's name, of which the stream becomes the owner
      def initialize(level, prog, host, pid)
        name = prog && Text.utf8(prog)
        host = Text.utf8(host)
        @common = Header.common(Topic.build(level, name, host), level, pid, host, name)
        @label = Levels.label(level)
        @prog = prog
        @pid = pid
        resume(@dropped = 0)
      end

      attr_reader :common, :label, :prog, :pid, :tseq
      def topic = @common.topic
      # Continues the count: the next record gets the number after `tseq`.
      def resume(tseq) = @tseq = @sent = tseq
      # Counts a dropped record. Any thread may call this method without a lock: CRuby does not
      # switch threads during an addition.
      def drop = @dropped += 1
      # Returns the next number. Only the thread that encodes calls this method.
      def next_tseq = @tseq = (@sent += 1) + @dropped
    end
    private_constant :Stream
  end
end
