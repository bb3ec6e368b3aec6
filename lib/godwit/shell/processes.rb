# frozen_string_literal: true

module Godwit
  module Shell
    # Ends commands: {Processes#stop} sends TERM to a process group, and KILL after `grace:`.
    # {Job#finish} calls `stop` when the block ends early, at the command's end, at a time-out and
    # at `close`; {Reaper} calls `stop` at the process's exit and for a Stream that was collected.
    #
    # The groups' leaders are reaped after the last signal: until then no other process can have
    # their pids. This object outlives a Stream that was collected.
    # @private
    class Processes
      # Seconds to wait after KILL. After that a thread of the {Reaper} continues the wait.
      KILL_TIMEOUT = 5

      # @return [Integer] the number of a signal that has this name or number
      def self.signal_number(name)
        number = name.is_a?(Integer) ? name : Signal.list[name.to_s.delete_prefix("SIG")]
        return number if Signal.list.value?(number)
        raise Errors.bad_value(:signal, "a signal", "a name such as :INT, or its number", name)
      end

      attr_reader :children

      def initialize(grace)
        @grace = grace
        @children = []
        @owner = Process.pid
        @lock = Mutex.new
      end

      def forked? = @owner != Process.pid
      def add(child) = @lock.synchronize { @children << child }
      def exited? = @lock.synchronize { @children.all?(&:exited?) }
      def settled? = @lock.synchronize { @children.all?(&:settled?) }
      # @return [Child, nil] a child that the kernel stopped for its use of the terminal
      def wanting_terminal = @lock.synchronize { @children.find(&:wants_terminal?) }

      # Sends a signal to all groups.
      def signal(name)
        @lock.synchronize { @children.each { |child| child.signal(name) } } unless forked?
      end

      # Ends all groups. If an interrupt ends the wait, a thread of the {Reaper} ends the groups.
      def stop(first = :TERM)
        return if forked? || settled?
        Thread.handle_interrupt(Object => :never) do
          signals(first).each do |name, seconds|
            signal(name)
            signal(:CONT) unless name == :KILL # a stopped process handles no other signal
            break if ended_within?(seconds)
          end
          @lock.synchronize { @children.each(&:reap) }
        ensure
          settled? ? Reaper.forget(self) : Reaper.stop_later(self)
        end
      end

      private

      # @return [Hash{Symbol => Numeric}] each signal, and the seconds to wait after it
      def signals(first)
        return {TERM: @grace, KILL: KILL_TIMEOUT} if first == :TERM
        {first => @grace / 2.0, :TERM => @grace / 2.0, :KILL => KILL_TIMEOUT}
      end

      def ended_within?(seconds)
        finish = Timeout.now + seconds
        loop do
          pids = living
          return true if pids.empty?
          remaining = Timeout.until(finish)
          return false if remaining.zero?
          Pidfd.wait(pids, remaining)
        end
      end

      # @return [Array<Integer>] pids of the running leaders; if none runs, of their groups' members
      def living
        @lock.synchronize do
          leaders = @children.reject(&:exited?).map(&:pid)
          return leaders unless leaders.empty?
          groups = @children.reject(&:settled?).map(&:pid)
          groups.empty? ? [] : Members.living(groups)
        end
      end
    end

    # A started process, the leader of a process group unless it is in the foreground. No other
    # process gets its pid before {#reap}. All calls need the lock of {Processes}.
    # @private
    class Child
      attr_reader :pid, :words
      # @return [Process::Status, nil] nil before {#reap}, and when other code reaped the process
      attr_reader :status

      # Signals that stop a process which uses a terminal that it does not have.
      TERMINAL_STOPS = %w[TTIN TTOU].map { |name| Signal.list.fetch(name) }.freeze

      def initialize(pid, words, group: true)
        @pid = pid
        @words = words
        @group = group
      end

      # @return [Boolean] whether the process has ended, or is no longer a child of this process
      def exited?
        return true if @settled || @ended
        case Primitives.exited?(@pid)
        when true then @ended = true
        when nil then @settled = true
        else false
        end
      end

      # @return [Boolean] whether the process was reaped; then another process may have its pid
      def settled? = @settled

      def wants_terminal?
        return false if @settled || !Members.stopped?(@pid)
        _, status = Unscheduled.call { Process.wait2(@pid, Process::WNOHANG | Process::WUNTRACED) }
        return TERMINAL_STOPS.include?(status&.stopsig) if status.nil? || status.stopped?
        @settled = true # the process has ended meanwhile
        @status = status
        false
      rescue Errno::ECHILD
        false
      end

      # Sends a signal to the whole group, unless another process may have the pid.
      def signal(name)
        return if exited? && @settled
        Process.kill(name, @group ? -@pid : @pid)
      rescue Errno::ESRCH, Errno::EPERM
        nil # no process remains, or only processes of another user
      end

      # Stores the status of a process that has ended.
      def reap
        return if !exited? || @settled
        _, @status = Unscheduled.call { Process.wait2(@pid, Process::WNOHANG) }
        @settled = !@status.nil?
      rescue Errno::ECHILD
        @settled = true
      end
    end

    # Stops commands that still run at process exit, and commands whose Stream was collected.
    # @private
    module Reaper
      @running = {}.compare_by_identity # Processes => true
      @lock = Mutex.new

      class << self
        def running = @lock.synchronize { @running.keys }.reject(&:forked?)

        # @raise [ThreadError] in a trap handler
        def signal(number)
          running.each { |processes| processes.signal(number) }
          nil
        end

        def watch(processes)
          @lock.synchronize do
            @running.delete_if { |other, _| other.forked? }
            @running[processes] = true
            next if @at_exit == Process.pid
            @at_exit = Process.pid
            at_exit { stop_all }
          end
        end

        def forget(processes) = @lock.synchronize { @running.delete(processes) }

        # Stops the processes on a thread. Finalizers may call this: it neither locks nor waits.
        def stop_later(processes, open = [])
          Thread.new do
            Thread.current.name = "godwit shell reaper"
            # The thread inherits an interrupt mask that may defer kills.
            Thread.handle_interrupt(Object => :immediate) do
              open.each(&:close)
              processes.stop
            end
          end
        rescue ThreadError
          nil # Ruby starts no thread while the process exits
        end

        # @param open [Array<#close>] what the job has open; none of it may refer to the job
        def finalizer(processes, stdin_writer, open)
          proc do
            unless processes.forked?
              stdin_writer&.kill
              stop_later(processes, open)
            end
          end
        end

        private

        # A command that a later at_exit block starts registers this method again.
        def stop_all
          return unless @at_exit == Process.pid
          @at_exit = nil
          running.filter_map { |processes| stop_later(processes) }.each(&:join)
        end
      end
    end
  end
end
