# frozen_string_literal: true

require "securerandom"

module Godwit
  module Work
    module Kafka
      # The methods of Contract for an operator of groups in a cluster.
      #
      # **Threads**: any.
      # @private
      class Operator
        # The `client.id` of a member: the process id, the member's id in Work (mark), the topic.
        CLIENT = /\Agodwit (\d+) (\h+) (.+)\z/

        def initialize(groups, topics, state)
          @groups = groups
          @topics = topics
          @state = state
        end

        # @return [Array<Listed>]
        def members
          @groups.members(@groups.names).flat_map do |group, members|
            members.filter_map { |one| listed(group, one) }
          end
        end

        # @param group [String, nil] nil: all groups
        # @return [Array<Position>] by group, topic and partition
        def positions(group = nil, topic = nil)
          names = group ? [group] : @groups.names.sort
          known = topic ? {topic.name => topic} : @topics.all
          members = @groups.members(names)
          owners, living = owners(members), members.values.flatten.map { |one| mark(one) }
          names.flat_map do |name|
            @groups.committed(name).select { |one| one.offset >= 0 }.group_by(&:topic).sort
              .flat_map do |read, entries|
                known.key?(read) ? of(name, known[read], entries, owners, living) : []
              end
          end
        end

        # @raise [TopicError] when the group has never read the topic
        def set(group, topic, offsets: nil, paused: nil)
          if positions(group, topic).empty?
            raise TopicError, "group #{group.inspect} has never read topic " \
              "#{topic.name.inspect}: `godwit-work groups` lists the groups"
          end
          unless paused.nil?
            @state.write("pause", group, topic.name, paused ? {"since" => Time.now.to_i} : nil)
          end
          seek(group, topic, offsets) if offsets
        end

        # @param positions [Array<Position>] of groups without members
        # @raise [LostError] when a group has members
        def restore(positions)
          positions.uniq(&:reader).each do |one|
            @state.write("pause", *one.reader, nil) if @state["pause", *one.reader]
            forget_seeks(one.group, one.topic)
          end
          positions.group_by(&:group).each do |group, own|
            @groups.set(group, own.map { |one|
              text = CommitText.new(crashes: 0, state: one.state).dump
              PartitionList::Entry.new(one.topic.name, one.partition, one.watermark, text)
            })
          end
        end

        private

        # @return [Listed, nil] nil: the member belongs to another program
        def listed(group, one)
          pid, mark, topic = CLIENT.match(one.client)&.captures
          return unless pid
          report = @state["report", mark]&.fetch("text", nil)
          Listed.new(mark, group, topic, pid.to_i.nonzero?, one.host.delete_prefix("/"), report,
            true, 0.0)
        end

        # @return [Hash{Array => String}] [group, topic, partition] => {#mark} of the owner
        def owners(members)
          members.flat_map { |group, all|
            all.flat_map do |one|
              one.partitions.map { |entry| [[group, entry.topic, entry.partition], mark(one)] }
            end
          }.to_h
        end

        def mark(member) = CLIENT.match(member.client)&.[](2) || member.id

        # A member that still handles records of a partition counts as its owner, though the group
        # has revoked the partition.
        def of(group, topic, entries, owners, living)
          found = entries.to_h { |one| [one.partition, one] }
          paused = @state["pause", group, topic.name] ? 1 : 0
          Array.new(topic.partitions) do |number|
            entry = found[number]
            text = CommitText.parse(entry&.metadata)
            owner = owners[[group, topic.name, number]] || (living & [text.owner]).first
            Position.new(group, topic, number, owner, 0,
              entry&.offset || 0, text.state, text.crashes, text.noted, paused, text.crashed_at)
          end
        end

        # A group with members refuses offsets: its members read each partition's seek in @state and
        # follow it.
        def seek(group, topic, offsets)
          wanted = offsets.each_with_index.filter_map do |offset, number|
            PartitionList::Entry.new(topic.name, number, offset) if offset
          end
          @groups.set(group, wanted)
          forget_seeks(group, topic)
        rescue LostError
          id = SecureRandom.hex(6)
          @state.write_all(wanted.to_h { |one|
            [["seek", group, topic.name, one.partition], {"id" => id, "offset" => one.offset}]
          })
        end

        # The next member must not follow an older seek. Another client may have sought a partition
        # just now, so this method deletes the facts of all partitions.
        def forget_seeks(group, topic)
          keys = Array.new(topic.partitions) { |number| ["seek", group, topic.name, number] }
          @state.write_all(keys.to_h { |key| [key, nil] }) if keys.any? { |key| @state[*key] }
        end
      end
    end
  end
end
