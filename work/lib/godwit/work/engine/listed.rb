# frozen_string_literal: true

module Godwit
  module Work
    # A member: the names of its group and its topic, the id and the host of its process, what
    # {Groups#report} stored, whether its process lives, and the seconds since its last report.
    # @private
    Listed = Struct.new(:id, :group, :topic, :pid, :host, :report, :alive, :silent) do
      # @return [Array(String, String)] names of the group and the topic
      def reader = [group, topic]

      # @return [Boolean] whether the member's process lives and does not report
      def silent? = alive && silent >= SilentProcesses::AFTER

      # @return [Hash{Symbol => Object}] group, topic, member id, process id and host
      def facts = {group: group, topic: topic, member: id, process: pid, host: host}

      # @return [String] the process, the member and its group, for a message
      def name = "process #{pid}#{host && " on #{host}"}, member #{id} of group #{group},"

      # @return [String] the command that evicts the member
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
