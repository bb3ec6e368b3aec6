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
      # @param prog [String, nil] its own
      def initialize(level, prog, host, pid)
        @topic = Topic.build(level, prog && Text.utf8(prog), Text.utf8(host)).freeze
        @label = Levels.label(level)
        @prog = prog
        @before_thread = ",\"level\":#{level},\"pid\":#{pid},\"thread\":".freeze
        host_field = ",\"host\":#{JSON.generate(Text.utf8(host))}"
        prog_field = ",\"prog\":#{JSON.generate(Text.utf8(prog))}" if prog
        @after_thread = "#{host_field}#{prog_field}".freeze
        @line_head = "#{@label[0]}, [".freeze
        @line_middle = " ##{pid}] #{@label.rjust(5)} -- #{Text.utf8(prog) if prog}: ".freeze
        @tseq = @dropped = @counted = 0
      end

      # What stands before and after the time in the line of Ruby's formatter.
      attr_reader :line_head, :line_middle
      attr_reader :topic, :label, :prog, :before_thread, :after_thread, :tseq

      # Goes on after this number.
      def resume(tseq)
        @tseq = tseq
      end

      # In the caller, who holds no lock: one addition is never cut in two by CRuby's threads.
      def drop = @dropped += 1

      # In the sender: dropped ones had a number too.
      # @return [Integer]
      def next_tseq
        if @dropped != @counted
          dropped = @dropped
          @tseq += dropped - @counted
          @counted = dropped
        end
        @tseq += 1
      end
    end
    private_constant :Stream
  end
end
