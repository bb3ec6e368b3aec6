# frozen_string_literal: true

module Godwit
  module Shell
    # One process that was started, the leader of a process group of its own unless it is in the
    # foreground. Its number stays its own until {#reap}: before, it is at worst a zombie. Used
    # under the lock of {Processes}.
    # @private
    class Child
      # @return [Integer] of the process and of its group
      attr_reader :pid
      # @return [Process::Status, nil] once reaped; nil also when somebody else took it
      attr_reader :status

      # Signals that stop a process which uses a terminal that it does not have.
      TERMINAL = %w[TTIN TTOU].map { |name| Signal.list.fetch(name) }.freeze

      # @param words [Array<String>] the command
      # @param group [Boolean] whether it leads a group
      def initialize(pid, words, group: true)
        @pid = pid
        @words = words
        @group = group
      end

      # @return [Array<String>]
      attr_reader :words

      # @return [Boolean] it ended, or nobody can know any more
      def exited?
        return true if @settled || @ended
        case Native.exited?(@pid)
        when true then @ended = true
        when nil then @settled = true
        else false
        end
      end

      # @return [Boolean] its number may be another's by now
      def settled? = @settled

      # @return [Boolean] whether it waits to be given the terminal
      def wants_terminal?
        return false if @settled || !Members.stopped?(@pid)
        _, status = Unscheduled.call { Process.wait2(@pid, Process::WNOHANG | Process::WUNTRACED) }
        return TERMINAL.include?(status&.stopsig) if status.nil? || status.stopped?
        @settled = true # it was ended meanwhile
        @status = status
        false
      rescue Errno::ECHILD
        false
      end

      # To the whole group; nothing once the number may be another's.
      def signal(name)
        return if exited? && @settled
        Process.kill(name, @group ? -@pid : @pid)
      rescue Errno::ESRCH, Errno::EPERM
        nil # there is nobody left, or only those that changed their user
      end

      # Takes the status of one that has exited.
      # @return [Boolean] whether it is done
      def reap
        return true if @settled
        return false unless exited?
        return true if @settled # exited? found it gone
        _, @status = Unscheduled.call { Process.wait2(@pid, Process::WNOHANG) }
        @settled = !@status.nil?
      rescue Errno::ECHILD
        @settled = true
      end
    end
  end
end
