# frozen_string_literal: true

module Godwit
  module Shell
    # Runs a block that no fiber scheduler sees. While the caller holds a lock, a scheduler would
    # run other fibers. On Ruby 3.1 the gem async loses a fiber that reads a file.
    # @private
    module Unscheduled
      def self.call(&block)
        return block.call unless Fiber.respond_to?(:current_scheduler) && Fiber.current_scheduler
        Fiber.new(blocking: true, &block).resume
      end
    end

    # The members of process groups, from /proc.
    # @private
    module Members
      module_function

      def living(groups)
        Unscheduled.call do
          Dir.children("/proc").map(&:to_i).select do |pid|
            pid.positive? && !groups.include?(pid) && groups.include?(group(pid)) && lives?(pid)
          end
        end
      rescue Errno::ENOENT, Errno::EACCES
        [] # this system has no /proc
      end

      def group(pid)
        Process.getpgid(pid)
      rescue Errno::ESRCH, Errno::EPERM
        nil
      end

      def lives?(pid) = ![nil, "Z", "X"].include?(state(pid))
      def stopped?(pid) = state(pid) == "T"

      # @return [String, nil] the state's letter in proc(5); nil: no such process, or no /proc
      def state(pid)
        Unscheduled.call { File.binread("/proc/#{pid}/stat") }[/\) (\w)/n, 1]
      rescue SystemCallError
        nil
      end
    end

    # A descriptor that is readable once a process has ended.
    # @private
    module Pidfd
      POLL_INTERVAL = 0.02 # seconds between two checks, where the kernel has no pidfd

      module_function

      def of(pid) = Primitives.pidfd(pid)&.then { |number| IO.for_fd(number, "r") }

      # Waits until one of the processes ends, or time is up. Interrupts arrive only in the wait:
      # Ruby leaves a descriptor open when an interrupt comes while it closes an IO.
      def wait(pids, seconds)
        ios = pids.filter_map { |pid| of(pid) }
        poller = Poller.new(*ios)
        slice = (ios.size == pids.size) ? seconds : [seconds, POLL_INTERVAL].min
        Runtime.defer_interrupts { poller.wait(slice) }
      rescue Errno::EMFILE, Errno::ENFILE
        # No descriptor remains for a pidfd or a poller.
        Runtime.defer_interrupts { sleep([seconds, POLL_INTERVAL].min) }
      ensure
        poller&.close
        ios&.each(&:close)
      end
    end
  end
end
