# frozen_string_literal: true

module Godwit
  module Work
    # The topics of one engine, read again after KNOWN seconds, since other processes change topics;
    # and the formats that this process has declared for topics.
    #
    # **Threads**: any.
    # @private
    class Topics
      KNOWN = 1 # seconds for which a process uses the topics that it has read
      STICKY = 0.01 # seconds for which records without a key go to one partition

      # @param engine [Object] see Contract
      def initialize(engine)
        @engine = engine
        @known = {}
        @until = 0
        @formats = {}
        @random = @random_until = 0
      end

      # @return [Hash{String => Format}] the formats that this process has declared, by topic name
      attr_reader :formats

      # @return [Hash{String => Topic}] all topics of the engine, read now, by name
      def all
        now = Timeout.now
        found = @engine.topics
        @until = now + KNOWN
        @known = found
      end

      def [](name)
        known = @known[name] if Timeout.now < @until
        known || all[name]
      end

      # @raise [TopicError] for a name that no topic has
      def fetch(name)
        raise Godwit::Errors.bad_value(:find, "a topic", "a String", name) unless name.is_a?(String)
        self[name] || raise(TopicError, "no topic #{name.inspect}#{nearest(name)}: " \
          "declare it with Godwit::Work.topic #{name.inspect}")
      end

      # @param topic [Topic] see Contract
      def save(topic) = @engine.save_topic(topic).tap { @until = 0 }

      def known_format(topic) = @formats[topic.name] || Format.of(topic.format)

      def format_of(topic) = known_format(topic) || raise(Format.unknown(topic))

      # @return [Blocks] empty, for the records of one produce call
      def blocks(topic, format = format_of(topic)) = Blocks.new(topic, format, any(topic))

      private

      # Chooses the partition of records without a key. The partition stays the same for
      # STICKY seconds, so that blocks are large and SQLite has less work.
      def any(topic)
        now = Timeout.now
        @random, @random_until = rand(1 << 30), now + STICKY if now > @random_until
        @random % topic.partitions
      end

      def nearest(name)
        require "godwit/cli"
        text = name.encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
        Godwit::CLI.nearest(text, all.keys)
      end
    end
  end
end
