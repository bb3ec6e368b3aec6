# frozen_string_literal: true

module Godwit
  module Work
    module CLI
      # `godwit-work requeue`: returns a dead letter to its topic.
      class Requeue < Command
        summary "Returns a dead letter to its topic: only the group that failed handles it again."
        usage "requeue TOPIC --offset PARTITION/OFFSET"

        private

        def define(parser)
          parser.on("--offset PLACE", "partition and offset, such as 3/17; `dead` lists them")
        end

        def call(arguments)
          topic, = accept(arguments, "topic of dead letters")
          match = options[:offset].to_s.match(%r{\A(\d+)/(\d+)\z}) or
            raise Godwit::CLI::UsageError, "--offset is PARTITION/OFFSET, such as 3/17"
          client.requeue(topic, Integer(match[1], 10), Integer(match[2], 10))
          Godwit::CLI::EXIT[:ok]
        end
      end
    end
  end
end
