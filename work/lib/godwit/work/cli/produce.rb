# frozen_string_literal: true

module Godwit
  module Work
    module CLI
      # `godwit-work produce`: writes lines to a topic.
      class Produce < Command
        summary "Writes each line of standard input to a topic."
        usage "produce TOPIC < lines"
        notes <<~TEXT
          A line is the value as the topic has it: JSON, text or bytes. A line that does not fit
          ends the command with status 1. The error tells which lines before it were written.
        TEXT

        LINES = 1_000 # most lines of one transaction
        private_constant :LINES

        private

        def define(parser)
          parser.on("--key KEY", "of all records")
        end

        def call(arguments)
          topic, = accept(arguments, "topic")
          log = client
          # This call raises for an unknown topic, even if there is no line of input.
          log.produce_lines(topic, [], nil, 0)
          $stdin.each_line(chomp: true).each_slice(LINES).with_index do |lines, index|
            log.produce_lines(topic, lines, options[:key], index * LINES)
          rescue FormatError => error
            raise Godwit::CLI::InputError, error.message
          end
          Godwit::CLI::EXIT[:ok]
        end
      end
    end
  end
end
