# frozen_string_literal: true

module Godwit
  module Work
    module CLI
      # `godwit-work seek`: sets the offset at which a group goes on.
      class Seek < Command
        summary "Lets a group go on at an offset or a time: records run again, or never."
        usage "seek GROUP TOPIC --to WHERE [--partition NUMBER]"

        private

        def define(parser)
          parser.on("--to WHERE", *WHERE) { |text| where(text, "--to") }
          parser.on("--partition NUMBER", Integer, "of this partition alone (all)")
        end

        def call(arguments)
          group, topic = accept(arguments, "group", "topic")
          raise Godwit::CLI::UsageError, "seek needs --to WHERE" unless options[:to]
          client.seek(group, topic, **options.slice(:to, :partition))
          Godwit::CLI::EXIT[:ok]
        end
      end
    end
  end
end
