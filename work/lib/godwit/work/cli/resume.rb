# frozen_string_literal: true

module Godwit
  module Work
    module CLI
      # `godwit-work resume GROUP TOPIC`.
      class Resume < Command
        summary "Lets the records of a topic run again in a group."
        usage "resume GROUP TOPIC"

        private

        def call(arguments)
          client.resume(*take(arguments, "group", "topic"))
          Godwit::CLI::EXIT[:ok]
        end
      end
    end
  end
end
