# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    class Reader
      # The file with the writers' statistics for the next reader. A rename replaces it, at most
      # once in {PERIOD} seconds. The next reader counts as lost what a killed reader read after its
      # last write.
      class State
        PERIOD = 1.0
        FIELDS = %w[prog host last received lost late time].freeze

        attr_reader :error # the error of the last write, or nil

        def initialize(path)
          @path = File.expand_path(Files.checked_path(path, :reader, "state:"))
          @due = Timeout.now + PERIOD
        end

        def load
          folder = File.dirname(@path)
          raise Errno::ENOENT, folder unless File.directory?(folder)
          raise Errno::EACCES, folder unless File.writable?(folder)
          raise Errors.bad_value(:reader, "state:", "a file", @path) if File.directory?(@path)
          return [] unless File.exist?(@path)
          writers = JSON.parse(File.read(@path, encoding: "UTF-8")).fetch("writers")
          writers.map do |writer, values|
            numbers = values.values_at("first", "last", "received", "lost", "late")
            raise TypeError unless numbers.all?(Integer) && values["time"].is_a?(Numeric)
            settings = values.slice(*FIELDS).transform_keys(&:to_sym)
            WriterStatistics.new(writer, values["first"], **settings)
          end
        rescue JSON::ParserError, KeyError, TypeError, NoMethodError, ArgumentError
          raise Errors.bad_value(:reader, "state:", "a file that a reader wrote, or none", @path)
        end

        def due_in = Timeout.until(@due)

        # A failed write does not end the reading: $stderr gets one warning until a write succeeds.
        def save(writers)
          @due = Timeout.now + PERIOD
          writers = writers.to_h { |one| [one.writer, one.to_h.slice("first", *FIELDS)] }
          temporary = "#{@path}.#{Process.pid}.new"
          # Unlike JSON.generate, View.json accepts writer ids that are not UTF-8.
          File.write(temporary, View.json({"v" => 1, "writers" => writers}))
          File.rename(temporary, @path)
          @error = nil
        rescue SystemCallError => error
          warn "godwit: the reader's state was not written: #{error.message}" unless @error
          @error = error
        end
      end
      private_constant :State
    end
  end
end
