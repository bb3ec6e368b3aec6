# frozen_string_literal: true

module Godwit
  module Work
    # Topics of one engine: declares them, writes and reads records, and shows and changes the
    # positions of groups.
    #
    # **Threads**: any number may use it. **Fork**: a child may use a file's Client, not Kafka's.
    class Client
      # The most bytes of a value.
      MAX_VALUE = 1 << 20
      # The most bytes of a key and the headers together.
      MAX_KEY = 64 << 10
      # A call of `produce_many` begins new blocks after so many bytes of values, keys and headers.
      # @private
      BLOCK = 1 << 20
      # The most records of a block: a consumer loads whole blocks into its memory.
      # @private
      BLOCK_RECORDS = 10_000
      READ = 1 << 20 # bytes that `each` reads at a time
      POLL = 0.25 # seconds between two checks of a live `each` for new records
      # The default of the parameter `value`: Ruby makes keywords of a Hash without braces.
      NO_VALUE = Object.new.freeze
      UNCHANGED = Object.new.freeze # the default of `retain:`: the topic's limits stay
      private_constant :READ, :POLL, :NO_VALUE, :UNCHANGED

      # @private
      # @param engine [Object] see Contract
      # @param events [Events] listeners for all logs that the process connects to
      def initialize(engine, events = Events.new)
        @engine = engine
        @topics = Topics.new(engine)
        @events = events
      end

      # @private
      # @return [Events]
      attr_reader :events

      # Calls a listener when something happens in this process: see {Events#on}.
      # @param names [Array<Symbol>] of {Events::NAMES}; none: all
      # @yieldparam event [Events::Event]
      # @return [nil]
      # @raise [ArgumentValueError]
      def on(*names, &listener) = @events.on(*names, &listener)

      # Declares a topic, and creates it if it does not exist.
      # @param name [String]
      # @param partitions [Integer, nil] 1 to 10,000; nil: as an existing topic has, or 8
      # @param format [Symbol, Object, nil] :json, :msgpack (by the gem msgpack), :raw, :text, or an
      #   object with `dump` and `load`; nil: as an existing topic has, or :json
      # @param partitioner [Symbol, nil] for keys: :crc32, as librdkafka by default, or :murmur2, as
      #   Kafka's Java client; nil: as an existing topic has, or :crc32
      # @param retain [Numeric, Hash, nil] seconds after which records are deleted; nil: never;
      #   `{bytes: 1 << 30}`: the oldest records are deleted while the topic has more bytes;
      #   `{seconds: …, bytes: …}`: both. Not given: as it is, or 7 days. Another value
      #   changes an existing topic
      # @param kafka [Hash, nil] Kafka's properties for a new topic; SQLite ignores them
      # @return [Topic]
      # @raise [ArgumentValueError]
      # @raise [TopicError] when the topic exists with other partitions, format or partitioner
      def topic(name, partitions: nil, format: nil, partitioner: nil, retain: UNCHANGED, kafka: nil)
        Declaration.check(name, partitions, partitioner)
        limits = Declaration.limits((retain == UNCHANGED) ? Topic::RETAIN : retain)
        format_name, object = Format.find(format) if format
        name = name.encode(Encoding::UTF_8).freeze # SQLite stores a binary String as a blob
        wanted = Topic.new(name: name, partitions: partitions, format: format_name,
          partitioner: partitioner, kafka: kafka, **limits)
        found = @topics[name]&.then { |topic| topic if topic.format }
        found ||= @topics.save(wanted.with_defaults)
        if (difference = wanted.difference(found))
          raise TopicError, "topic #{name.inspect}: #{difference}: declare it as it is"
        end
        @topics.formats[name] = object if object
        same = retain == UNCHANGED || limits == found.to_h.slice(:retain, :retain_bytes)
        same ? found : @topics.save(Topic.new(**found.to_h, **limits))
      end

      # Writes a record, and waits until the log has stored it.
      # @param topic [String] name of a topic that exists
      # @param value [Object, nil] that the topic's format can encode; nil: a tombstone
      # @param key [String, nil] records with the same key stay in order; nil: any partition
      # @param headers [Hash, Array, nil] pairs of String and String or nil
      # @param value_without_braces [Hash] not accepted: a Hash as the value needs braces
      # @return [Receipt]
      # @raise [TopicError, FormatError, ArgumentValueError] nothing was written
      # @raise [StateError] in a trap block: nothing was written
      # @raise [Error] of SQLite: nothing was written; of Kafka: the record may have been written
      def produce(topic, value = NO_VALUE, key: nil, headers: nil, **value_without_braces)
        check_braces(topic, value, value_without_braces)
        append(@topics.blocks(find(topic)).add(value, key, headers)).first
      end

      # Writes records, and waits until the log has stored all; on SQLite in one transaction.
      # @param topic [String] name of a topic that exists
      # @param records [Enumerable<Array>] each is `[value]`, `[value, key]` or
      #   `[value, key, headers]`
      # @return [Array<Receipt>] in the order of the records
      # @raise (see #produce)
      def produce_many(topic, records)
        unless records.is_a?(Enumerable)
          raise Godwit::Errors.bad_value(:produce_many, "records", "an Array of Arrays", records)
        end
        blocks = @topics.blocks(find(topic))
        add_all(blocks, records)
        append(blocks)
      end

      # Reads records without a group: the log does not store a position.
      # @param topic [String] name of a topic that exists
      # @param from [Integer, Time, Symbol] an offset, a time, :earliest or :latest; a negative
      #   offset counts from the end of each partition
      # @param live [Boolean] whether to wait for more records at the end
      # @yieldparam message [Message] in order within its partition
      # @return [nil, Enumerator] an Enumerator without a block
      # @raise [TopicError, ArgumentValueError]
      # @raise [CorruptError] when a block of a file is damaged
      def each(topic, from: :earliest, live: false, &block)
        return to_enum(:each, topic, from: from, live: live) unless block
        topic = find(topic)
        positions = starts(topic, from)
        loop do
          seen = @engine.version
          read_all(topic, positions, &block)
          return unless live
          sleep POLL while @engine.version == seen
          topic = @topics.all.fetch(topic.name)
          positions.fill(0, positions.size...topic.partitions) # new partitions begin at offset 0
        end
      end

      # Looks for stuck handlers, processes that do not report or have died, groups with unread
      # records and no member, paused groups, isolated partitions, and old records that retention
      # keeps since a group has not read them.
      # @param check [Boolean] whether to check for damage, too, which reads the whole log
      # @return [Administration::Diagnosis]
      def doctor(check: false) = Doctor.new(self, check).diagnose

      # @return [Array<Administration::Group>] sorted by name
      def groups
        members = @engine.members.group_by(&:reader)
        ends = end_offsets
        @engine.positions.group_by(&:reader).map do |(group, topic), positions|
          lag = positions.sum { |one| ends[one.topic][one.partition] - one.watermark }
          own = members.fetch([group, topic], [])
          Administration::Group.new(group: group, topic: topic, members: own.size, lag: lag,
            paused: positions.any? { |one| one.paused == 1 }, silent: own.count(&:silent?)).freeze
        end
      end

      # @return [Array<Administration::Member>] sorted by group, topic and id
      def members
        owned = @engine.positions.map(&:member).tally
        @engine.members.sort_by { |one| [one.group, one.topic, one.id] }.map do |one|
          Administration::Member.new(member: one.id, group: one.group, topic: one.topic,
            partitions: owned.fetch(one.id, 0), pid: one.pid, host: one.host,
            silent: one.silent.floor).freeze
        end
      end

      # Sets the offset at which the group goes on: records run again, or are skipped.
      # @param group [String]
      # @param topic [String]
      # @param to [Integer, Time, Symbol] as {#each}'s `from:`, but at most a partition's end
      # @param partition [Integer, nil] the only partition to change; nil: all
      # @return [nil]
      # @raise [TopicError, ArgumentValueError]
      def seek(group, topic, to:, partition: nil)
        topic = find(topic)
        check_index(:seek, "partition:", partition, topic.partitions) if partition
        # An offset behind the end becomes the end: otherwise the group would miss the next records.
        ends = end_offsets[topic]
        offsets = starts(topic, to).map.with_index do |offset, number|
          [offset, ends[number]].min if [nil, number].include?(partition)
        end
        set(:seek, group, topic, offsets: offsets)
      end

      # Gives a topic more partitions. Keys move: records with the same key may be in two partitions
      # afterwards, so let the groups handle all records before, when their order matters. Other
      # processes use the new partitions within a second.
      # @param topic [String]
      # @param partitions [Integer] more than it has, at most 10,000
      # @return [Topic]
      # @raise [TopicError] unless the topic gets more
      # @raise [ArgumentValueError]
      def grow(topic, partitions)
        found = find(topic)
        Declaration.check(topic, partitions, nil)
        if partitions <= found.partitions
          raise TopicError, "topic #{topic.inspect} has #{found.partitions} partitions, and " \
            "cannot have #{partitions}: name a larger number"
        end
        @topics.save(Topic.new(**found.to_h, partitions: partitions))
      end

      # Lets no record of the topic run in this group until {#resume}, also after restarts.
      # @param group [String]
      # @param topic [String]
      # @return [nil]
      # @raise [TopicError, ArgumentValueError]
      def pause(group, topic) = set(:pause, group, find(topic), paused: true)

      # @param group [String]
      # @param topic [String]
      # @return [nil]
      # @raise [TopicError, ArgumentValueError]
      def resume(group, topic) = set(:resume, group, find(topic), paused: false)

      # Takes the partitions from a member. If the member's process still works, it joins again.
      # @param member [Integer, String, nil] a member's id; nil: no member has it
      # @return [Boolean] whether there was such a member
      # @raise [UnsupportedError] on Kafka, which evicts members itself
      def evict(member)
        Contract.need(@engine, :evict)
        @engine.members.any? { |one| one.id.eql?(member) } && @engine.leave(member)
      end

      # Writes a dead letter to its original topic again, for the group whose handler failed.
      # @param dead [String] a topic of dead letters
      # @param partition [Integer]
      # @param offset [Integer]
      # @return [Receipt] of the new record
      # @raise [TopicError] when there is no such dead letter
      # @raise [ArgumentValueError]
      def requeue(dead, partition, offset)
        topic = find(dead)
        check_index(:requeue, "partition", partition)
        check_index(:requeue, "offset", offset)
        letter = message_at(topic, partition, offset) if partition < topic.partitions
        origin = letter && DeadLetter.origin(letter)
        unless origin
          raise TopicError, "no dead letter at #{partition}/#{offset} of topic #{dead.inspect}: " \
            "`godwit-work dead` lists them"
        end
        blocks = encode_raw(origin, letter.raw, letter.key, DeadLetter.returned(letter.headers))
        blocks.written(@engine.append(blocks.batches)).first
      end

      # @private
      # Writes values that have the topic's format already.
      # @param lines [Array<String>]
      # @param before [Integer] number of lines written by earlier calls, for the error
      def produce_lines(topic, lines, key, before)
        topic = find(topic)
        format = @topics.format_of(topic)
        blocks = @topics.blocks(topic, Format.of("raw"))
        lines.each.with_index(before + 1) do |line, number|
          format.load(line)
          blocks.add(line, key, nil)
        rescue FormatError => error
          written = before.zero? ? "no line was" : "lines 1 to #{before} were"
          raise error, "line #{number}: #{error.message} (#{written} written)"
        end
        @engine.append(blocks.batches) unless blocks.empty?
      end

      # @private
      # Declares the topic `name` for the dead letters of `topic`, with the format of `topic`.
      # @param name [String, nil]
      # @raise [TopicError] also when this process does not know the format
      def dead_letters(name, topic)
        format = @topics.format_of(topic)
        topic(name, format: Format.of(topic.format) ? topic.format.to_sym : format) if name
      end

      # @private
      # @return [Blocks] with the encoded record, for a later commit
      # @raise (see #produce)
      def encode(topic, value = NO_VALUE, key: nil, headers: nil, **value_without_braces)
        check_braces(topic, value, value_without_braces)
        # The record is encoded now: the caller may change its Strings afterwards.
        @topics.blocks(find(topic)).add(value, key, headers).tap(&:batches)
      end

      # @private
      # @return [Blocks] with one record, whose bytes come from another topic
      def encode_raw(topic, bytes, key, headers)
        @topics.blocks(find(topic), nil).tap { |blocks| blocks.put(bytes, key, headers) }
      end

      # @private
      # @return [Array<Source>] blocks from an offset on: the first one contains this offset
      def read(topic, partition, offset, bytes = READ)
        sources(topic, partition, @engine.read(topic, partition, offset, bytes))
      end

      # @private
      # @param position [Position] of a partition that a member of this process owns
      # @return [Array<Source>] blocks from the offset on: the first one contains this offset
      def fetch(position, offset, bytes)
        sources(position.topic, position.partition, @engine.fetch(position, offset, bytes))
      end

      # @private
      # @return [Message, nil] the record at an offset; nil: there is none
      def message_at(topic, partition, offset)
        read(topic, partition, offset).flat_map { |source| source.messages(offset) }
          .find { |message| message.offset == offset }
      end

      # @private
      # @return [Array<Integer>] for each partition the offset at which reading begins
      def starts(topic, from)
        since = from.is_a?(Time) ? (from.to_r * 1000).ceil : 0
        @engine.bounds(topic, since).map { |first, finish| start(first, finish, from) }
      end

      # @private
      # @return [Proc] returns the ends of a topic's partitions, which it reads once
      def end_offsets
        known = {}
        ->(topic) { known[topic.name] ||= @engine.bounds(topic).map(&:last) }
      end

      # @private
      attr_reader :engine # see Contract

      # @return [Array<Topic>] sorted by name
      def topics = @topics.all.values

      # @return [nil]
      def close = @engine.close

      # @return [String]
      def inspect = "#<#{self.class} #{@engine.inspect}>"

      private

      def sources(topic, partition, blocks)
        format = @topics.known_format(topic)
        blocks.map { |block| Source.new(topic, format, partition, block.offset, block) }
      end

      def start(first, finish, from)
        case from
        when :earliest, Time then first
        when :latest then finish
        when Integer then (from < 0) ? [finish + from, first].max : [from, first].max
        else
          raise Godwit::Errors.bad_value(:each, "from:", "an offset, a Time, :earliest or :latest",
            from)
        end
      end

      def append(blocks) = blocks.empty? ? [] : blocks.written(@engine.append(blocks.batches))

      def set(operation, group, topic, **change)
        @engine.set(Declaration.group(operation, group), topic, **change)
        nil
      end

      def add_all(blocks, records)
        records.each do |record|
          unless record.is_a?(Array) && !record.empty? && record.size <= 3
            raise Godwit::Errors.bad_value(:produce_many, "a record", "[value], [value, key] or " \
              "[value, key, headers]", record)
          end
          value, key, headers = record
          blocks.add(value, key, headers)
        rescue FormatError, ArgumentValueError => error
          raise error, "record #{blocks.size} of the call: #{error.message}"
        end
      end

      def check_braces(topic, value, value_without_braces)
        return if value != NO_VALUE && value_without_braces.empty?
        if value != NO_VALUE
          raise Godwit::Errors.bad_value(:produce, "options", "key: and headers:",
            value_without_braces)
        end
        raise Godwit::Errors.of(ArgumentValueError, :produce, "the value lacks its braces: " \
          "write produce(#{topic.inspect}, {id: 1}, key: \"42\")")
      end

      def find(name) = @topics.fetch(name)

      def check_index(operation, name, given, count = Float::INFINITY)
        return if given.is_a?(Integer) && given >= 0 && given < count
        most = (count == Float::INFINITY) ? "or more" : "to #{count - 1}"
        raise Godwit::Errors.bad_value(operation, name, "an Integer, 0 #{most}", given)
      end

      # Reads the records up to the ends that the partitions have when this method is called.
      def read_all(topic, positions, &block)
        ends = end_offsets[topic]
        positions.each_index do |number|
          while positions[number] < ends[number]
            sources = read(topic, number, positions[number])
            break if sources.empty? # retention has deleted the records
            sources.each do |source|
              source.messages(positions[number]).each(&block)
              positions[number] = source.finish
            end
          end
        end
      end
    end
  end
end
