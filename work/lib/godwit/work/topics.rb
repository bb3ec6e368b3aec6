# frozen_string_literal: true

module Godwit
  module Work
    # The topics of one engine, as they were less than a second ago: another process may change
    # them.
    #
    # **Threads**: any.
    # @private
    class Topics
      KNOWN = 1 # seconds for which a process believes that the topics are the same
      private_constant :KNOWN

      # @param engine [Object] see Contract
      def initialize(engine)
        @engine = engine
        @known = {}
        @until = 0
      end

      # @return [Hash{String => Topic}] all topics that there are now, by name
      def all
        now = Timeout.now
        found = @engine.topics
        @until = now + KNOWN
        @known = found
      end

      # @return [Topic, nil]
      def [](name)
        known = @known[name] if Timeout.now < @until
        known || all[name]
      end

      # @return [Topic]
      # @raise [TopicError] for a name that no topic has
      def fetch(name)
        raise Godwit::Errors.bad_value(:find, "a topic", "a String", name) unless name.is_a?(String)
        self[name] || raise(TopicError, "no topic #{name.inspect}#{nearest(name)}: " \
          "declare it with Godwit::Work.topic #{name.inspect}")
      end

      # @param topic [Topic] see Contract
      # @return [Topic]
      def save(topic) = @engine.save_topic(topic).tap { @until = 0 }

      private

      def nearest(name)
        require "godwit/cli"
        text = name.encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
        Godwit::CLI.nearest(text, all.keys)
      end
    end
  end
end
