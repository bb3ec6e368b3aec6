# frozen_string_literal: true

module Godwit
  module Work
    module CLI
      # `godwit-work grow TOPIC PARTITIONS`.
      class Grow < Command
        summary "Gives a topic more partitions."
        usage "grow TOPIC PARTITIONS"

        private

        def call(arguments)
          topic, count = accept(arguments, "topic", "number of partitions")
          partitions = Integer(count, 10, exception: false) or
            raise Godwit::CLI::UsageError, "#{count.inspect} is no number of partitions"
          client.grow(topic, partitions)
          Godwit::CLI::EXIT[:ok]
        end
      end
    end
  end
end
