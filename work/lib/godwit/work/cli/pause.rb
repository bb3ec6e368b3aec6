# frozen_string_literal: true

module Godwit
  module Work
    module CLI
      # `godwit-work pause GROUP TOPIC`.
      class Pause < Command
        summary "Stops the records of a topic in a group until resume, also through restarts."
        usage "pause GROUP TOPIC"

        private

        def call(arguments)
          client.public_send(action, *accept(arguments, "group", "topic"))
          Godwit::CLI::EXIT[:ok]
        end

        def action = :pause
      end
    end
  end
end
