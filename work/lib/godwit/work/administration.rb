# frozen_string_literal: true

module Godwit
  module Work
    # The results of a {Client}'s methods for operators.
    module Administration
      # The progress of a group in a topic. Frozen.
      #
      # @!attribute group
      #   @return [String]
      # @!attribute topic
      #   @return [String]
      # @!attribute members
      #   @return [Integer]
      # @!attribute lag
      #   @return [Integer] records from the first unfinished one to the end, of all partitions
      # @!attribute paused
      #   @return [Boolean]
      # @!attribute silent
      #   @return [Integer] members whose processes live and have not reported for 5 s
      Group = Struct.new(:group, :topic, :members, :lag, :paused, :silent, keyword_init: true)

      # A reason why records are not handled, or not deleted. Frozen.
      #
      # @!attribute kind
      #   @return [Symbol] :stuck, :silent, :dead_member, :no_member, :paused, :isolated, :held or
      #     :damaged
      # @!attribute text
      #   @return [String] the problem, and its fix
      # @!attribute details
      #   @return [Hash{Symbol => Object}] such as `group:`, `topic:`, `member:`, `backtrace:`
      Finding = Struct.new(:kind, :text, :details, keyword_init: true) do
        # @return [Hash{Symbol => Object}] kind, text and details
        def to_h = {kind: kind, text: text, **details}
      end

      # What {Client#doctor} found. Frozen.
      #
      # @!attribute storage
      #   @return [Hash{Symbol => Object}] where the records are: `path:` of the SQLite file, its
      #     `bytes:`, `wal_bytes:` of the WAL beside it, and the version `sqlite:`; on Kafka
      #     `brokers:`, the version `librdkafka:`, how many `topics:` there are, and the `rights:`
      #     that Work needs on a cluster with an authorizer, an Array of Strings
      # @!attribute findings
      #   @return [Array<Finding>] empty when nothing is wrong
      Diagnosis = Struct.new(:storage, :findings, keyword_init: true)

      # A consumer class in a process. Frozen.
      #
      # @!attribute member
      #   @return [Integer, String] id; a String on Kafka
      # @!attribute group
      #   @return [String]
      # @!attribute topic
      #   @return [String]
      # @!attribute partitions
      #   @return [Integer] number of partitions that the member owns
      # @!attribute pid
      #   @return [Integer, nil] id of the member's process
      # @!attribute host
      #   @return [String, nil] host of the member's process
      # @!attribute silent
      #   @return [Integer] seconds since the last report of the member's process, which reports
      #     once a second; on Kafka 0
      Member = Struct.new(:member, :group, :topic, :partitions, :pid, :host, :silent,
        keyword_init: true)
    end
  end
end
