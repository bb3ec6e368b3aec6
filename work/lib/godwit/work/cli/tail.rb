# frozen_string_literal: true

module Godwit
  module Work
    module CLI
      # `godwit-work tail`: prints the values of a topic.
      class Tail < Command
        summary "Prints the values of a topic, one a line."
        usage "tail TOPIC [--from WHERE] [--follow]"

        private

        def define(parser)
          parser.on("--from WHERE", *WHERE, "(-10)") { |text| where(text, "--from") }
          parser.on("--follow", "waits for more records")
        end

        def call(arguments)
          topic, = accept(arguments, "topic")
          client.each(topic, from: options.fetch(:from, -10), live: options[:follow]) do |message|
            io.puts message.raw.to_s
            io.flush
          end
          Godwit::CLI::EXIT[:ok]
        end
      end
    end
  end
end
