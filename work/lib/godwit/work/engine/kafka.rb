# frozen_string_literal: true

module Godwit
  module Work
    # Kafka by librdkafka, which the gem ffi calls. Nothing loads it without a `kafka://` URL.
    # @private
    module Kafka
      # The engines of this process, each with itself, as ForkDetector::OF_PARENT.
      ENGINES = ObjectSpace::WeakMap.new
      # librdkafka's threads must end before the libraries of the process do.
      at_exit { ENGINES.each_key(&:close) }

      autoload :Answer, "godwit/work/engine/kafka/answer"
      autoload :Arrivals, "godwit/work/engine/kafka/arrivals"
      autoload :Block, "godwit/work/engine/kafka/block"
      autoload :Claim, "godwit/work/engine/kafka/claim"
      autoload :Cluster, "godwit/work/engine/kafka/cluster"
      autoload :Commits, "godwit/work/engine/kafka/commits"
      autoload :CommitText, "godwit/work/engine/kafka/commit_text"
      autoload :Configuration, "godwit/work/engine/kafka/configuration"
      autoload :Delivery, "godwit/work/engine/kafka/delivery"
      autoload :Errors, "godwit/work/engine/kafka/errors"
      autoload :Failure, "godwit/work/engine/kafka/failure"
      autoload :Fetch, "godwit/work/engine/kafka/fetch"
      autoload :Functions, "godwit/work/engine/kafka/functions"
      autoload :Groups, "godwit/work/engine/kafka/groups"
      autoload :Handle, "godwit/work/engine/kafka/handle"
      autoload :Library, "godwit/work/engine/kafka/library"
      autoload :Membership, "godwit/work/engine/kafka/membership"
      autoload :Metadata, "godwit/work/engine/kafka/metadata"
      autoload :Moves, "godwit/work/engine/kafka/moves"
      autoload :Operator, "godwit/work/engine/kafka/operator"
      autoload :Outputs, "godwit/work/engine/kafka/outputs"
      autoload :PartitionList, "godwit/work/engine/kafka/partition_list"
      autoload :Producer, "godwit/work/engine/kafka/producer"
      autoload :Properties, "godwit/work/engine/kafka/properties"
      autoload :Reader, "godwit/work/engine/kafka/reader"
      autoload :Request, "godwit/work/engine/kafka/request"
      autoload :Rights, "godwit/work/engine/kafka/rights"
      autoload :Secret, "godwit/work/engine/kafka/secret"
      autoload :Settings, "godwit/work/engine/kafka/settings"
      autoload :State, "godwit/work/engine/kafka/state"
      autoload :Subscription, "godwit/work/engine/kafka/subscription"
      autoload :Topics, "godwit/work/engine/kafka/topics"
      autoload :Url, "godwit/work/engine/kafka/url"
      autoload :UserProperties, "godwit/work/engine/kafka/user_properties"
      autoload :Values, "godwit/work/engine/kafka/values"
      autoload :WakeUp, "godwit/work/engine/kafka/wake_up"
      autoload :Native, "godwit/work/kafka_ext"
    end
  end
end
