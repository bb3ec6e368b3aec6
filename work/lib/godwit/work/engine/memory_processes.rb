# frozen_string_literal: true

module Godwit
  module Work
    # Has the methods of {Processes} for a log whose members are all in this process.
    # @private
    class MemoryProcesses
      def initialize
        @listening = []
        @dead = []
        @buried = []
      end

      # @return [Array<Integer>] see {MemoryEngine#dead}
      attr_reader :dead

      def listen = PipeWakeUp.new.tap { |one| @listening = [*@listening.reject(&:closed?), one] }

      def wake(batches = [])
        partitions = batches.map { |topic, partition| topic.ids[partition] }
        @listening.each { |one| one.wake(partitions) }
        nil
      end

      def facts(members)
        members.map do |id, name|
          [WakeUp.pid(name), WakeUp.host(name), !@dead.include?(id), 0]
        end
      end

      def departed(_member) = (@dead - @buried).to_h { |id| [id, ""] }
      def buried(_names) = @buried |= @dead
      def removed(_name) = nil
    end
  end
end
