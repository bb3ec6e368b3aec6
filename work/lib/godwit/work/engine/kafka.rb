# frozen_string_literal: true

module Godwit
  module Work
    # Kafka by librdkafka, which the gem ffi calls. Nothing loads it without a `kafka://` URL.
    # @private
    module Kafka
      autoload :Answer, "godwit/work/engine/kafka/answer"
      autoload :Claim, "godwit/work/engine/kafka/claim"
      autoload :Cluster, "godwit/work/engine/kafka/cluster"
      autoload :CommitText, "godwit/work/engine/kafka/commit_text"
      autoload :Functions, "godwit/work/engine/kafka/functions"
      autoload :Groups, "godwit/work/engine/kafka/groups"
      autoload :Handle, "godwit/work/engine/kafka/handle"
      autoload :Library, "godwit/work/engine/kafka/library"
      autoload :Membership, "godwit/work/engine/kafka/membership"
      autoload :Metadata, "godwit/work/engine/kafka/metadata"
      autoload :Outputs, "godwit/work/engine/kafka/outputs"
      autoload :PartitionList, "godwit/work/engine/kafka/partition_list"
      autoload :Producer, "godwit/work/engine/kafka/producer"
      autoload :Reader, "godwit/work/engine/kafka/reader"
      autoload :Request, "godwit/work/engine/kafka/request"
      autoload :State, "godwit/work/engine/kafka/state"
      autoload :Topics, "godwit/work/engine/kafka/topics"
      autoload :TransactionError, "godwit/work/engine/kafka/transaction_error"
    end
  end
end
