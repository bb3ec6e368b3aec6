# frozen_string_literal: true

require "godwit/printable"

module Godwit
  module Work
    # What happened in this process, for the listeners of {Work.on}.
    class Events
      # The names of events, which `on` takes.
      NAMES = %i[failed dead moved lost skipped stuck silent evicted retention_held error].freeze

      # An event.
      #
      # @!attribute name
      #   @return [Symbol]
      # @!attribute values
      #   @return [Hash{Symbol => Object}] such as `message:`, `error:`, `attempts:`
      Event = Struct.new(:name, :values) do
        # @return [Hash{Symbol => Object}]
        def to_h = {name: name, **values}
        # @param key [Symbol]
        # @return [Object, nil] a value
        def [](key) = values[key]
      end

      REPEAT = 60 # seconds between two warnings with the same text
      private_constant :REPEAT

      def initialize
        @listeners = {}
        @warned = {}
      end

      # @param names [Array<Symbol>] of {NAMES}; none: all
      # @yieldparam event [Event]
      # @return [nil]
      # @raise [ArgumentValueError]
      def on(*names, &listener)
        wrong = names - NAMES
        if wrong.any? || listener.nil?
          raise Godwit::Errors.bad_value(:on, "on", "some of #{NAMES.join(", ")}, and a block",
            wrong.first)
        end
        names = NAMES if names.empty?
        names.each { |name| @listeners[name] = [*@listeners[name], listener] }
        nil
      end

      # @private
      # @return [Boolean] whether there is a listener of this event
      def listener?(name) = @listeners.key?(name)

      # Calls the listeners of an event. A listener that raises, or exits, changes nothing. An
      # `error` without a listener is a warning.
      # @private
      def emit(name, **values)
        return warn_of(values[:error]) if name == :error && !listener?(name)
        event = Event.new(name, values.freeze).freeze
        @listeners[name]&.each do |listener|
          listener.call(event)
        rescue Exception => error # standard:disable Lint/RescueException -- also exit, and throw
          print_error(error, "a listener of #{name} raised: ")
        end
      end

      private

      # Warns of an error, but not of each one: a full disk would fail each commit, ten times a
      # second.
      def warn_of(error)
        now = Timeout.now
        recent = @warned.select { |_, at| at > now - REPEAT }
        return if recent.key?(error.message)
        @warned = recent.merge(error.message => now)
        print_error(error)
      end

      def print_error(error, before = "")
        text = "godwit-work: #{before}#{error.full_message(highlight: false)}"
        warn text.lines(chomp: true).map { |line| Printable.line(line) }.join("\n")
      end
    end
  end
end
