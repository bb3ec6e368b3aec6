# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # The rights that a user needs in a cluster with an authorizer.
      # @private
      module Rights
        # The rights that each operation needs. Read and Write include Describe.
        TABLE = {
          "any call" => "Read on the topic `_godwit.state`, once it is there",
          "`topic`: declare" => "Write on `_godwit.state`; Create on the topic, and on " \
            "`_godwit.state` the first time",
          "`topic` with another `retain:`" => "AlterConfigs on the topic",
          "`grow`" => "Alter on the topic",
          "`produce`" => "Write on the topic",
          "`each`, `tail`" => "Read on the topic",
          "consume" => "Read on the topic and on the group; Create and Write on the topic of " \
            "dead letters",
          "`produce` in a handler, dead letters" => "also Write on the topic, and Write on the " \
            "transactional ids that begin with `godwit-`",
          "`groups`, `lag`, `doctor`" => "Describe on the groups and the topics",
          "`pause`, `resume`" => "Describe on the group and the topic, Write on `_godwit.state`",
          "`copy`" => "Create, Write and Read on the topics, Read on the groups, Write on " \
            "`_godwit.state`",
          "`seek`" => "Read on the group and the topic, Write on `_godwit.state`",
          "limits of topics in `topics`" => "DescribeConfigs on the topic; without it they are " \
            "unknown"
        }.freeze

        # @return [Array<String>] for a terminal
        def self.lines = TABLE.map { |operation, rights| "#{operation}: #{rights}".delete("`") }
      end
    end
  end
end
