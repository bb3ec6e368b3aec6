# frozen_string_literal: true

module Godwit
  module Work
    # The base of consumers. A subclass declares its topic, and has `perform(message)` or
    # `consume(batch)`.
    #
    #   class Payments < Godwit::Work::Consumer
    #     topic "payments"
    #     retries 5, backoff: 1..300
    #
    #     def perform(message) = charge(message.value)
    #   end
    #
    # A class may have **hooks**, which tell about the partitions of this process. A hook that
    # raises emits the event `error`, and changes nothing.
    #
    # * `assigned(partitions)`: their records run after the hook has ended.
    # * `revoked(partitions)`: all handled records are committed; other processes get the partitions
    #   after the hook has ended.
    # * `lost(partitions)`: other processes have them already. Nothing more is committed, also not
    #   for handlers that still run.
    # * `idle`: all records are handled. It is called again when all further records are handled.
    # * `stopping`: the process stops. Handlers may still run; `revoked` follows.
    #
    # `partitions` is an Array of Integers.
    #
    # **Threads**: each worker has an instance of its own for each partition. The hooks have another
    # instance, and a thread of their own, which calls one hook after the other.
    class Consumer
      # The declarations of a class.
      # @private
      Settings = Struct.new(:topic, :topic_settings, :group, :start_from, :retries, :backoff,
        :parallel, :dead_letter, :stuck_after, keyword_init: true)
      BACKOFF = (1..300) # seconds before the first retry, and most seconds before a later retry
      private_constant :BACKOFF

      class << self
        # @private
        def inherited(subclass)
          super
          subclass.instance_variable_set(:@settings, settings.dup)
          number = Consumer.instance_variable_get(:@last).to_i + 1
          Consumer.instance_variable_set(:@last, number)
          subclass.instance_variable_set(:@number, number)
        end

        # @private
        # @return [Array<Class>] of all consumers, in the order of their definition, without those
        #   whose name means another class now, or nothing, as after a reload
        def known
          Consumer.descendants.reject { |klass| Declaration.replaced?(klass) }
            .sort_by { |klass| klass.instance_variable_get(:@number) }
        end

        # @private
        # @return [Array<Class>]
        def descendants = subclasses.flat_map { |klass| [klass, *klass.descendants] }

        # @return [Array<Class>] the consumers with a name and a topic, in the order of their
        #   definition; of classes with the same name the newest
        def classes = Consumer.known.select { |klass| klass.name && klass.settings.topic }

        # @private
        # @return [Settings]
        def settings
          @settings ||= Settings.new(topic_settings: {}, start_from: :earliest, retries: 5,
            backoff: BACKOFF, parallel: :partition, stuck_after: 300)
        end

        # The topic whose records the class handles. The topic is created at first use.
        # @param name [String]
        # @param settings [Hash] as {Client#topic}
        # @return [nil]
        def topic(name, **settings)
          self.settings.topic = name
          self.settings.topic_settings = settings
          nil
        end

        # The group, whose members share the records. By default its name is derived from the
        # class's name.
        # @param name [String]
        # @return [nil]
        # @raise [ArgumentValueError]
        def group(name)
          settings.group = Declaration.group(:group, name)
          nil
        end

        # Where a new group begins.
        # @param from [Symbol, Time] :earliest, the default, :latest, or a time
        # @return [nil]
        # @raise [ArgumentValueError]
        def start_from(from)
          unless %i[earliest latest].include?(from) || from.is_a?(Time)
            raise Godwit::Errors.bad_value(:start_from, "from", ":earliest, :latest or a Time",
              from)
          end
          settings.start_from = from
          nil
        end

        # How often a record that failed runs again.
        # @param count [Integer] 0 or more; default 5
        # @param backoff [Range<Numeric>] from the seconds before the first retry to the most
        #   seconds before a later one, default 1..300. Each retry waits twice as long as the one
        #   before; at random up to a tenth shorter or longer
        # @return [nil]
        # @raise [ArgumentValueError]
        def retries(count, backoff: BACKOFF)
          unless count.is_a?(Integer) && count >= 0
            raise Godwit::Errors.bad_value(:retries, "count", "0 or more", count)
          end
          limits = backoff.is_a?(Range) ? [backoff.begin, backoff.end] : [nil]
          least, most = limits.map { |limit| Declaration.finite(limit) }
          unless least && most && least >= 0 && least <= most
            raise Godwit::Errors.bad_value(:retries, "backoff:", "a Range of seconds", backoff)
          end
          settings.retries = count
          settings.backoff = least..most
          nil
        end

        # Sets which records are handled one after the other: those of a partition (the default), or
        # those of a key.
        # @param by [Symbol, #call] :key, :partition, or a lambda that gets a message and returns
        #   its key
        # @return [nil]
        # @raise [ArgumentValueError]
        def parallel(by:)
          unless %i[key partition].include?(by) || by.respond_to?(:call)
            raise Godwit::Errors.bad_value(:parallel, "by:", ":key, :partition or a lambda", by)
          end
          settings.parallel = by
          nil
        end

        # The topic of the records that failed after all retries.
        # @param name [String, false] default: the topic's name with ".dead"; false: such a record
        #   is dropped
        # @return [nil]
        def dead_letter(name)
          settings.dead_letter = name
          nil
        end

        # The time after which a running handler is reported, with its backtrace: by the event
        # `stuck` and by `godwit-work doctor`. The handler goes on, and keeps its partition.
        # @param seconds [Numeric, nil] more than 0, exact to half a second; default 300; nil: never
        # @return [nil]
        # @raise [ArgumentValueError]
        def stuck_after(seconds)
          settings.stuck_after = check_seconds(:stuck_after, "seconds", seconds)
          nil
        end

        # Writes a record to the class's topic.
        # @param value [Object, nil]
        # @param options [Hash] `key:` and `headers:`, as {Client#produce}
        # @return [Receipt]
        # @raise (see Client#produce)
        def produce(*value, **options)
          declare(Work.client)
          Work.client.produce(settings.topic, *value, **options)
        end

        # @private
        # @return [Integer, Float, nil]
        # @raise [ArgumentValueError] unless `seconds` is nil or more than 0
        def check_seconds(operation, name, seconds)
          number = Declaration.finite(seconds)
          return number if seconds.nil? || number&.positive?
          raise Godwit::Errors.bad_value(operation, name, "more than 0, or nil", seconds)
        end

        # @private
        # @return [Topic]
        def declare(client)
          unless settings.topic
            raise Godwit::Errors.of(StateError, :topic, "#{self} has no topic: write topic " \
              "\"name\" in the class")
          end
          client.topic(settings.topic, **settings.topic_settings)
        end

        # @private
        # @return [String]
        # @raise [StateError] for a class without a name and a group
        def group_name
          return settings.group if settings.group
          unless name
            raise Godwit::Errors.of(StateError, :group, "#{self} has no name, and so no group: " \
              "write group \"name\" in the class")
          end
          name.gsub("::", "-").gsub(/(?<=[a-z\d])(?=[A-Z])/, "_").downcase
        end

        # @private
        # @return [String, nil] nil: records that fail are dropped
        def dead_letters
          settings.dead_letter.nil? ? "#{settings.topic}.dead" : settings.dead_letter || nil
        end

        # @private
        # @return [Boolean] whether the class handles batches
        # @raise [StateError] without a handler
        def batches?
          return true if method_defined?(:consume)
          return false if method_defined?(:perform)
          raise Godwit::Errors.of(StateError, :run, "#{self} handles nothing: write def " \
            "perform(message), or def consume(batch)")
        end
      end

      # @private
      attr_writer :invocation

      # @return [String]
      def inspect = "#<#{self.class}>"

      private

      # Writes a record in the transaction that commits the handled one: both are written, or
      # neither.
      # @param options [Hash] `key:` and `headers:`, as {Client#produce}
      # @return [Receipt] without an offset until the commit
      # @raise [LostError] when another member has the partition
      # @raise (see Client#produce)
      def produce(topic, *value, **options) = invocation.produce(topic, *value, **options)

      # Commits the handled record at once. The block's statements, the outputs and the commit are
      # one transaction, so that each takes effect once.
      # @param records [Array<Message>] of a batch; none: the current record of `each`
      # @yieldparam db [#execute] for SQL on tables in the same file: `db.execute(sql, *values)`
      # @return [Object] the block's value
      # @raise [StateError] when the record is finished, or no record is the current one
      # @raise [LostError] when another member has the partition: nothing was written
      # @raise [Error] of the block or the engine: nothing was written
      def transaction(*records, &block) = invocation.transaction(*records, &block)

      # Finishes one record of a batch.
      def done(message) = invocation.done(message)

      # Runs no further record of the handled record's partition: those that run now finish. The
      # pause ends at the latest when another process gets the partition, or this process stops. The
      # pause of an operator is independent of this pause.
      # @param seconds [Numeric, nil] more than 0; nil: until {#resume}
      def pause(seconds = nil) = invocation.pause(seconds)

      # Ends the {#pause} of the handled record's partition.
      def resume = invocation.resume

      # @private
      def invocation
        @invocation || raise(Godwit::Errors.of(StateError, :consumer, "no record is handled " \
          "here: in a hook call Godwit::Work.produce"))
      end
    end
  end
end
