# frozen_string_literal: true

module Godwit
  module Work
    module CLI
      # `godwit-work copy`: from a file to Kafka.
      class Copy < Command
        summary "Copies the topics of a file, and the positions of its groups, to Kafka."
        usage "copy FROM TO"

        private

        def define(parser)
          parser.separator <<~TEXT

            FROM and TO are URLs, such as sqlite:work.db and kafka://host:9092. Stop the consumers
            and the producers before. Topics that are not there are created. A copy that was
            interrupted goes on where TO ends.

          TEXT
        end

        def call(arguments)
          urls = take(arguments, "log to copy", "log to copy to")
          require "godwit/work"
          from, to = urls.zip([{create: false}, {}])
            .map { |url, options| Connection.open(url, **options) }
          positions = LogCopy.new(from, to).run do |one|
            io.puts "#{Printable.text(one.topic)}: #{one.records} records, " \
              "#{one.before} of them were there"
          end
          io.puts "#{positions} positions of groups"
          Godwit::CLI::EXIT[:ok]
        ensure
          [from, to].compact.each(&:close)
        end
      end
    end
  end
end
