# frozen_string_literal: true

module Godwit
  module TTCP
    # The resources that the process used, as `getrusage` counts them. Frozen. The memory, the page
    # faults and the switches come from Linux's /proc; elsewhere they are 0.
    #
    # @attr [Float] user seconds of the processor in the program
    # @attr [Float] system seconds of the processor in the kernel
    # @attr [Integer] max_rss the most memory so far, in KiB
    # @attr [Integer] major_faults page faults that read a disk
    # @attr [Integer] minor_faults all other page faults
    # @attr [Integer] voluntary_switches context switches because a thread waited
    # @attr [Integer] involuntary_switches context switches because a thread's time was up
    Usage = Struct.new(:user, :system, :max_rss, :major_faults, :minor_faults,
      :voluntary_switches, :involuntary_switches, keyword_init: true) do
      # @return [Float] seconds of the processor
      def cpu = user + system

      # @param other [Usage] an earlier one of this process
      # @return [Usage] the differences; `max_rss` is not subtracted
      def -(other)
        differences = to_h.to_h { |name, value| [name, value - other[name]] }
        self.class.new(**differences, max_rss: max_rss).freeze
      end
    end

    class << Usage
      # @return [Usage] of this process so far
      def now
        times = Process.times
        new(user: times.utime, system: times.stime, **faults, **memory, **switches).freeze
      end

      private

      # The page faults. Their fields follow the program's name, which may have spaces.
      def faults
        fields = read("/proc/self/stat").rpartition(")").last.split
        {minor_faults: fields[7].to_i, major_faults: fields[9].to_i}
      end

      def memory = {max_rss: read("/proc/self/status")[/^VmHWM:\s*(\d+)/, 1].to_i}

      # Adds the counts of all threads: Linux counts per thread.
      def switches
        threads = Dir["/proc/self/task/*/status"].map { |path| read(path) }
        count = ->(name) { threads.sum { |text| text[/^#{name}_ctxt_switches:\s*(\d+)/, 1].to_i } }
        {voluntary_switches: count.call("voluntary"),
         involuntary_switches: count.call("nonvoluntary")}
      end

      # @return [String] the file's text; empty without such a file, or if its thread has ended
      def read(path)
        File.read(path)
      rescue SystemCallError
        ""
      end
    end
  end
end
