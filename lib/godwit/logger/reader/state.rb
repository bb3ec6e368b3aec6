# frozen_string_literal: true

require "json"
require_relative "writer_statistics"
require_relative "../view"

module Godwit
  class Logger < ::Logger
    class Reader
      # The file that carries the writers over a reader's end to the next one. It is replaced as a
      # whole, by a rename, at most once in {PERIOD}: a reader that is killed has read a bit more
      # than the file says, which the next one reports as lost.
      # @private
      class State
        PERIOD = 1.0
        FIELDS = %w[prog host last received lost late time].freeze

        # @return [SystemCallError, nil] why the last try to write failed
        attr_reader :error

        # @raise [ArgumentTypeError, ArgumentValueError] when that is no path
        def initialize(path)
          path = path.to_path if path.respond_to?(:to_path)
          unless path.is_a?(String)
            raise Errors.bad_type(:reader, "state:", "the path of a file", path)
          end
          if path.empty? || path.include?("\0")
            raise Errors.bad_value(:reader, "state:", "the path of a file", path)
          end
          @path = File.expand_path(path)
          @due = Timeout.now + PERIOD
        end

        # @return [Array<WriterStatistics>] empty when there is no such file
        # @raise [ArgumentValueError] when it is something else
        # @raise [SystemCallError] when it cannot be read, or its folder cannot be written
        def load
          folder = File.dirname(@path)
          raise Errno::ENOENT, folder unless File.directory?(folder)
          raise Errno::EACCES, folder unless File.writable?(folder)
          if File.directory?(@path)
            raise Errors.bad_value(:reader, "state:", "a file, no folder", @path)
          end
          return [] unless File.exist?(@path)
          JSON
            .parse(File.read(@path, encoding: "UTF-8"))
            .fetch("writers")
            .map { |writer, values| statistics_of(writer, values) }
        rescue JSON::ParserError, KeyError, TypeError, NoMethodError, ArgumentError
          raise Errors.bad_value(
            :reader, "state:", "a file that a reader wrote, or one that is not there yet", @path
          )
        end

        # @return [Float] seconds until {save} is due
        def due_in = [@due - Timeout.now, 0].max

        # Trouble with the disk does not end the reading: it is told on $stderr, once until it is
        # over.
        # @param writers [Array<WriterStatistics>]
        def save(writers)
          @due = Timeout.now + PERIOD
          writers = writers.to_h { |one| [one.writer, one.to_h.slice("first", *FIELDS)] }
          temporary = "#{@path}.#{Process.pid}.new"
          # A stranger's id may be no UTF-8.
          File.write(temporary, View.json({"v" => 1, "writers" => writers}))
          File.rename(temporary, @path)
          @error = nil
        rescue SystemCallError => error
          warn "godwit: the reader's state was not written: #{error.message}" unless @error
          @error = error
        end

        private

        def statistics_of(writer, values)
          numbers = values.values_at("first", "last", "received", "lost", "late")
          raise TypeError unless numbers.all?(Integer) && values["time"].is_a?(Numeric)
          WriterStatistics.new(
            writer, values["first"], **values.slice(*FIELDS).transform_keys(&:to_sym)
          )
        end
      end
      private_constant :State
    end
  end
end
