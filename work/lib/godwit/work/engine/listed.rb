# frozen_string_literal: true

module Godwit
  module Work
    # A member: the names of its group and its topic, the id and the host of its process, what
    # {Groups#report} stored, whether its process lives, and the seconds since its last report.
    # @private
    Listed = Struct.new(:id, :group, :topic, :pid, :host, :report, :alive, :silent) do
      # @return [Array(String, String)] as {Position#reader}
      def reader = [group, topic]

      # @return [Boolean] whether its process lives and does not report
      def silent? = alive && silent >= SilentProcesses::AFTER

      # @return [Hash{Symbol => Object}] its names
      def facts = {group: group, topic: topic, member: id, process: pid, host: host}

      # @return [String] its names in words
      def name = "process #{pid}#{host && " on #{host}"}, member #{id} of group #{group},"

      # @return [String] a command
      def evict = "godwit-work evict #{id}"

      # @return [String] what to do about a process that does not report
      def advice
        "#{name} has not reported for #{silent.floor} s: it is stopped, or a handler holds " \
          "Ruby's lock: let it go on or end it, or `#{evict}` gives its partitions to other " \
          "processes, unless it holds the file in a transaction"
      end
    end
  end
end
