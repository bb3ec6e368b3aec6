# frozen_string_literal: true

require "time"

module Godwit
  module Work
    module CLI
      # `godwit-work seek`: a group goes on elsewhere.
      class Seek < Command
        summary "Lets a group go on at an offset or a time: records run again, or never."
        usage "seek GROUP TOPIC --to WHERE"

        private

        def define(parser)
          about = "earliest, latest, a time such as 2026-11-20T10:00, or an offset; a negative " \
            "one counts from the end"
          parser.on("--to WHERE", about) { |text| where(text) }
        end

        def where(text)
          return text.to_sym if %w[earliest latest].include?(text)
          return Integer(text, 10) if text.match?(/\A-?\d+\z/)
          Time.parse(text)
        rescue ArgumentError
          raise Godwit::CLI::UsageError, "--to #{text(text)}: earliest, latest, a time or an offset"
        end

        def call(arguments)
          group, topic = take(arguments, "group", "topic")
          raise Godwit::CLI::UsageError, "seek needs --to WHERE" unless options[:to]
          client.seek(group, topic, to: options[:to])
          Godwit::CLI::EXIT[:ok]
        end
      end
    end
  end
end
