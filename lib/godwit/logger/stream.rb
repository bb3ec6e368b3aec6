# frozen_string_literal: true

require "json"
require_relative "text"
require_relative "topic"

module Godwit
  class Logger < ::Logger
    # What all records of one writer, level and program name have in common, and their count.
    # @private
    class Stream
      # @param level [Integer]
      # @param prog [String, nil] the stream keeps it
      def initialize(level, prog, host, pid)
        @topic = Topic.build(level, prog && Text.utf8(prog), Text.utf8(host)).freeze
        @label = Levels.label(level)
        @prog = prog
        @pid = pid
        @before_thread = ",\"level\":#{level},\"pid\":#{pid},\"thread\":".freeze
        prog_field = ",\"prog\":#{JSON.generate(Text.utf8(prog))}" if prog
        @after_thread = ",\"host\":#{JSON.generate(Text.utf8(host))}#{prog_field}".freeze
        resume(@dropped = 0)
      end

      # @return [String] fields of the header before and after the thread's number
      attr_reader :before_thread, :after_thread
      attr_reader :topic, :label, :prog, :pid, :tseq

      # Goes on after this number.
      def resume(tseq)
        @tseq = @sent = tseq
      end

      # Callers, without a lock: CRuby switches threads in no addition.
      def drop = @dropped += 1

      # The thread that encodes.
      # @return [Integer] the next record's number; dropped records have numbers too
      def next_tseq = @tseq = (@sent += 1) + @dropped
    end
    private_constant :Stream
  end
end
