# frozen_string_literal: true

module Godwit
  module Work
    # Kafka by librdkafka, which the gem ffi calls. Only a `kafka://` URL loads librdkafka.
    # @private
    module Kafka
      # The engines of this process.
      ENGINES = WeakSet.new
      # librdkafka's threads must end before the process unloads its libraries.
      at_exit { ENGINES.to_a.each(&:close) }

      {
        "" => %i[Block Fetch Producer Reader],
        "cluster/" => %i[Answer Cluster Groups Operator Request Rights State Topics],
        "member/" => %i[
          Arrivals Claim CommitText Commits Membership Outputs WakeUp
        ],
        "rdkafka/" => %i[
          Configuration Delivery Errors Failure Functions Handle Library PartitionList
        ],
        "settings/" => %i[Properties Secret Settings Url UserProperties Values]
      }.each { |folder, names| Work.autoload_all(self, "engine/kafka/#{folder}", names) }
      autoload :Native, "godwit/work/kafka_ext"
    end
  end
end
