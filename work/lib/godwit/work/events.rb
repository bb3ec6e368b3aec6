# frozen_string_literal: true

require "godwit/printable"

module Godwit
  module Work
    # Passes the events of this process to the listeners of {Work.on}.
    class Events
      # The names of events, which `on` accepts.
      NAMES = %i[failed dead moved lost skipped stuck silent evicted retention_held error].freeze

      # An event that a listener receives.
      #
      # @!attribute name
      #   @return [Symbol] one of {NAMES}
      # @!attribute values
      #   @return [Hash{Symbol => Object}] such as `message:`, `error:`, `attempts:`
      Event = Struct.new(:name, :values) do
        # @return [Hash{Symbol => Object}] the name and the values
        def to_h = {name: name, **values}
        # @param key [Symbol] a key of `values`, such as `:message`
        # @return [Object, nil] the value of this key
        def [](key) = values[key]
      end

      REPEAT = 60 # seconds between two warnings with the same text
      private_constant :REPEAT

      def initialize
        @listeners = {}
        @warned = {}
      end

      # @param names [Array<Symbol>] some of {NAMES}; empty: all events
      # @yieldparam event [Event]
      # @return [nil]
      # @raise [ArgumentValueError] for an unknown name, or without a block
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

      # Calls the listeners of an event. If a listener raises or exits, the error is printed and the
      # next listener is called. An `error` event without a listener becomes a warning.
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

      # Prints an error, but the same text only once in REPEAT seconds: when the disk is full, ten
      # commits a second fail.
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
