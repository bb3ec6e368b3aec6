# frozen_string_literal: true

module Godwit
  module Shell
    # One process that was started, the leader of a process group of its own. Its number stays its own until {#reap}: before, it is
    # at worst a zombie. Used under the lock of {Processes}.
    # @private
    class Child
      # @return [Integer] of the process and of its group
      attr_reader :pid
      # @return [Process::Status, nil] once reaped; nil also when somebody else took it
      attr_reader :status

      # @param words [Array<String>] the command
      def initialize(pid, words)
        @pid = pid
        @words = words
      end

      # @return [Array<String>]
      attr_reader :words

      # @return [Boolean] it ended, or nobody can know any more
      def exited?
        return true if @settled || @ended
        case Backend::IMPLEMENTATION.exited?(@pid)
        when true then @ended = true
        when nil then @settled = true
        else false
        end
      end

      # @return [Boolean] its number may be another's by now
      def settled? = @settled

      # To the whole group; nothing once the number may be another's.
      def signal(name)
        return if exited? && @settled
        Process.kill(name, -@pid)
      rescue Errno::ESRCH, Errno::EPERM
        nil # there is nobody left, or only those that changed their user
      end

      # Takes the status of one that has exited.
      # @return [Boolean] whether it is done
      def reap
        return true if @settled
        return false unless exited?
        return true if @settled # exited? found it gone
        _, @status = taken
        @settled = !@status.nil?
      rescue Errno::ECHILD
        @settled = true
      end

      private

      # In a fiber of its own, since a scheduler would have others run, under the lock.
      def taken
        return Process.wait2(@pid, Process::WNOHANG) unless Fiber.respond_to?(:scheduler) && Fiber.scheduler
        Fiber.new(blocking: true) { Process.wait2(@pid, Process::WNOHANG) }.resume
      end
    end
  end
end
