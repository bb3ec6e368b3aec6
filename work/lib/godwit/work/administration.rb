# frozen_string_literal: true

module Godwit
  module Work
    # What an operator does with the groups of a {Client}. The commands of `godwit-work` use it.
    module Administration
      # How far a group is in a topic. Frozen.
      #
      # @!attribute group
      #   @return [String]
      # @!attribute topic
      #   @return [String]
      # @!attribute members
      #   @return [Integer]
      # @!attribute lag
      #   @return [Integer] records behind the first unfinished one, itself included
      # @!attribute paused
      #   @return [Boolean]
      # @!attribute silent
      #   @return [Integer] members whose processes live and have not reported for 5 s
      Group = Struct.new(:group, :topic, :members, :lag, :paused, :silent, keyword_init: true)

      # Something that keeps records from being handled, or from being deleted. Frozen.
      #
      # @!attribute kind
      #   @return [Symbol] :stuck, :silent, :dead_member, :no_member, :paused, :isolated, :held or
      #     :damaged
      # @!attribute text
      #   @return [String] what it is, and the fix
      # @!attribute details
      #   @return [Hash{Symbol => Object}] such as `group:`, `topic:`, `member:`, `backtrace:`
      Finding = Struct.new(:kind, :text, :details, keyword_init: true) do
        # @return [Hash{Symbol => Object}] kind, text and details
        def to_h = {kind: kind, text: text, **details}
      end

      # What {#doctor} found. Frozen.
      #
      # @!attribute storage
      #   @return [Hash{Symbol => Object}] where the records are: `path:` of the SQLite file, its
      #     `bytes:`, `wal_bytes:` of the WAL beside it, and the version `sqlite:`; on Kafka
      #     `brokers:`, the version `librdkafka:`, how many `topics:` there are, and the `rights:`
      #     that Work needs where there are rights, an Array of Strings
      # @!attribute findings
      #   @return [Array<Finding>] none: all is well
      Diagnosis = Struct.new(:storage, :findings, keyword_init: true)

      # Looks for stuck handlers, processes that do not report or have died, groups with unread
      # records and no member, paused groups, isolated partitions, and old records that retention
      # keeps since a group has not read them.
      # @param check [Boolean] whether to look for damage, too, which reads the whole log
      # @return [Diagnosis]
      def doctor(check: false) = Doctor.new(self, check).diagnose

      # A consumer class in a process. Frozen.
      #
      # @!attribute member
      #   @return [Integer, String] id; a String on Kafka
      # @!attribute group
      #   @return [String]
      # @!attribute topic
      #   @return [String]
      # @!attribute partitions
      #   @return [Integer] that it owns
      # @!attribute pid
      #   @return [Integer, nil] of its process
      # @!attribute host
      #   @return [String, nil] of its process
      # @!attribute silent
      #   @return [Integer] seconds since its process has reported, which it does once a second; on
      #     Kafka 0
      Member = Struct.new(:member, :group, :topic, :partitions, :pid, :host, :silent,
        keyword_init: true)

      # @return [Array<Group>] by name
      def groups
        members = @engine.members.group_by(&:reader)
        ends = end_offsets
        @engine.positions.group_by(&:reader).map do |(group, topic), positions|
          lag = positions.sum { |one| ends[one.topic][one.partition] - one.watermark }
          own = members.fetch([group, topic], [])
          Group.new(group: group, topic: topic, members: own.size, lag: lag,
            paused: positions.any? { |one| one.paused == 1 }, silent: own.count(&:silent?)).freeze
        end
      end

      # @return [Array<Member>] by group, topic and id
      def members
        owned = @engine.positions.map(&:member).tally
        @engine.members.sort_by { |one| [one.group, one.topic, one.id] }.map do |one|
          Member.new(member: one.id, group: one.group, topic: one.topic,
            partitions: owned.fetch(one.id, 0), pid: one.pid, host: one.host,
            silent: one.silent.floor).freeze
        end
      end

      # The group goes on elsewhere: records run again, or never.
      # @param group [String]
      # @param topic [String]
      # @param to [Integer, Time, Symbol] as {Client#each}'s `from:`; in a partition that has fewer
      #   records, an offset is its end
      # @param partition [Integer, nil] alone; nil: all
      # @return [nil]
      # @raise [TopicError, ArgumentValueError]
      def seek(group, topic, to:, partition: nil)
        topic = find(topic)
        check_place(:seek, "partition:", partition, topic.partitions) if partition
        # Behind the end, the group would miss the records that come there.
        ends = end_offsets[topic]
        offsets = starts(topic, to).map.with_index do |offset, number|
          [offset, ends[number]].min if [nil, number].include?(partition)
        end
        @engine.set(group, topic, offsets: offsets)
      end

      # Gives a topic more partitions. Keys move: records with the same key may be in two partitions
      # afterwards, so let the groups handle all records before, when their order matters. Other
      # processes use the new partitions within a second.
      # @param topic [String]
      # @param partitions [Integer] more than it has, at most 10,000
      # @return [Topic]
      # @raise [TopicError] for fewer
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

      # No record of the topic runs in this group, until {#resume}; also after restarts.
      # @param group [String]
      # @param topic [String]
      # @return [nil]
      # @raise [TopicError]
      def pause(group, topic)
        @engine.set(group, find(topic), paused: true)
      end

      # @param group [String]
      # @param topic [String]
      # @return [nil]
      # @raise [TopicError]
      def resume(group, topic)
        @engine.set(group, find(topic), paused: false)
      end

      # Takes the partitions of a member away; it joins again when its process works.
      # @param member [Integer, String] id
      # @return [Boolean] whether there was such a member
      # @raise [UnsupportedError] on a log that does it by itself
      def evict(member)
        Contract.need(@engine, :evict)
        @engine.members.any? { |one| one.id.eql?(member) } && @engine.leave(member)
      end

      # Returns a dead letter to its topic, for the group that failed.
      # @param dead [String] a topic of dead letters
      # @param partition [Integer]
      # @param offset [Integer]
      # @return [Receipt] of the new record
      # @raise [TopicError] when there is no such dead letter
      # @raise [ArgumentValueError]
      def requeue(dead, partition, offset)
        topic = find(dead)
        check_place(:requeue, "partition", partition)
        check_place(:requeue, "offset", offset)
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
      # @return [Proc] gives the ends of a topic's partitions, for which it asks once
      def end_offsets
        known = {}
        ->(topic) { known[topic.name] ||= @engine.bounds(topic).map(&:last) }
      end

      private

      def check_place(operation, name, given, count = Float::INFINITY)
        return if given.is_a?(Integer) && given >= 0 && given < count
        most = (count == Float::INFINITY) ? "or more" : "to #{count - 1}"
        raise Godwit::Errors.bad_value(operation, name, "an Integer, 0 #{most}", given)
      end
    end
  end
end
