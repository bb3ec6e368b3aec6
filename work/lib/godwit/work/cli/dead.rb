# frozen_string_literal: true

require_relative "listing"

module Godwit
  module Work
    module CLI
      # `godwit-work dead`: the dead letters of a topic.
      class Dead < Listing
        summary "Lists the records of a topic of dead letters, and why they failed."
        usage "dead TOPIC [--json]"

        ERROR = 80 # characters
        private_constant :ERROR

        private

        def rows(arguments)
          topic, = take(arguments, "topic of dead letters")
          client.each(topic).map do |message|
            headers = message.headers.to_h
            {offset: "#{message.partition}/#{message.offset}", key: text(message.key.to_s),
             attempts: headers["godwit-attempts"], group: headers["godwit-group"],
             error: text(headers["godwit-error"].to_s).lines.first.to_s.chomp[0, ERROR]}
          end
        end
      end
    end
  end
end
