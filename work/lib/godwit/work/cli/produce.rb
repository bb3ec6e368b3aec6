# frozen_string_literal: true

module Godwit
  module Work
    module CLI
      # `godwit-work produce`: writes lines to a topic.
      class Produce < Command
        summary "Writes each line of standard input to a topic."
        usage "produce TOPIC < lines"

        LINES = 1_000 # of one transaction
        private_constant :LINES

        private

        def define(parser)
          parser.on("--key KEY", "of all records")
          parser.separator "\nA line is the value as the topic has it: JSON, text or bytes.\n\n"
        end

        def call(arguments)
          topic, = take(arguments, "topic")
          $stdin.each_line(chomp: true).each_slice(LINES) do |lines|
            client.produce_bytes(topic, lines.map { |line| [line, options[:key]] })
          end
          Godwit::CLI::EXIT[:ok]
        end
      end
    end
  end
end
