# frozen_string_literal: true

module Godwit
  module Work
    module CLI
      # `godwit-work copy`: copies a log from a file to Kafka.
      class Copy < Command
        summary "Copies the topics of a file, and the positions of its groups, to Kafka."
        usage "copy FROM [TO]"
        notes <<~TEXT
          FROM and TO are URLs, such as sqlite:work.db and kafka://host:9092. Without TO it is
          GODWIT_WORK_URL, with the settings in GODWIT_WORK_SETTINGS. Stop the consumers and the
          producers before. Topics that are not there are created. A copy that was interrupted
          goes on where TO ends.
        TEXT

        private

        def call(arguments)
          given = [*arguments, *(ENV["GODWIT_WORK_URL"] if arguments.size == 1)]
          urls = accept(given, "log to copy", "log to copy to")
          require "godwit/work"
          check(*urls)
          from, to = urls.map { |url| Connection.open(url, create: false) }
          positions = LogCopy.new(from, to).run do |one|
            io.puts "#{Printable.text(one.topic)}: #{one.records} records, " \
              "#{one.before} of them were there"
          end
          io.puts "#{positions} positions of groups"
          Godwit::CLI::EXIT[:ok]
        ensure
          [from, to].compact.each(&:close)
        end

        def check(from, to)
          return if !Connection.cluster?(from) && Connection.cluster?(to)
          raise Godwit::CLI::UsageError, "copy goes from a file (sqlite:PATH) to a cluster " \
            "(kafka://HOST:PORT)"
        end
      end
    end
  end
end
