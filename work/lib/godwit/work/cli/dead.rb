# frozen_string_literal: true

require_relative "listing"

module Godwit
  module Work
    module CLI
      # `godwit-work dead`: lists the dead letters of one topic or of all topics.
      class Dead < Listing
        summary "Lists the dead letters, and why they failed."
        usage "dead [TOPIC] [--json]"
        notes "Without TOPIC: those of all topics whose names end in .dead."

        ERROR = 80 # most characters of an error that a row shows
        private_constant :ERROR

        private

        def rows(arguments)
          no_arguments(arguments.drop(1))
          topics = arguments
          topics = client.topics.map(&:name).grep(/\.dead\z/) if topics.empty?
          topics.flat_map { |topic| letters(topic) }
        end

        # @raise [Godwit::CLI::UsageError] for a topic whose records are no dead letters
        def letters(topic)
          records = 0
          letters = client.each(topic).filter_map do |message|
            records += 1
            row(message) if DeadLetter.origin(message)
          end
          return letters if letters.any? || records.zero?
          raise Godwit::CLI::UsageError, "topic #{topic} has records, and no dead letters: " \
            "`godwit-work dead` lists those of all topics"
        end

        def row(message)
          headers = message.headers.to_h.transform_values { |value| text(value.to_s) }
          {topic: message.topic, offset: "#{message.partition}/#{message.offset}",
           key: text(message.key.to_s), attempts: headers["godwit-attempts"].to_i,
           group: headers["godwit-group"],
           error: headers["godwit-error"].to_s.lines.first.to_s.chomp[0, ERROR]}
        end
      end
    end
  end
end
