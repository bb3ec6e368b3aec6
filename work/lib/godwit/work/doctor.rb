# frozen_string_literal: true

require "json"

module Godwit
  module Work
    # Looks for what keeps records from being handled: see {Administration#doctor}.
    # @private
    class Doctor
      # @param client [Client]
      # @param check [Boolean] whether SQLite looks for damage
      def initialize(client, check)
        @client = client
        @engine = client.engine
        @check = check
        @findings = []
      end

      # @return [Administration::Diagnosis]
      def diagnose
        path, bytes, wal, version, damage = @engine.storage(@check)
        damage.each { |text| damaged(text) }
        begin
          look
        rescue CorruptError => error
          damaged(error.message)
        end
        Administration::Diagnosis.new(path: path, bytes: bytes, wal_bytes: wal, sqlite: version,
          findings: @findings.freeze).freeze
      end

      private

      def look
        dead = @engine.dead_members
        members = @engine.reports
        members.each { |row| member(*row, dead.key?(row[0])) }
        groups = @client.groups
        groups.each do |group|
          living = members.count { |id, *of| of.first(2) == group.to_a.first(2) && !dead.key?(id) }
          group(group, living)
        end
        @engine.held.each { |(topic, name), count| held(topic, name, count) }
      end

      def add(kind, text, details)
        @findings << Administration::Finding.new(kind: kind, text: text,
          details: details.freeze).freeze
      end

      def damaged(text)
        add(:damaged, "the file is damaged: restore it from a backup: #{text}", {})
      end

      def member(id, group, topic, place, report, dead)
        facts = {group: group, topic: topic, member: id, process: File.basename(place).to_i}
        if dead
          return add(:dead_member, "process #{facts[:process]}, member #{id} of group #{group}, " \
            "has died: a consumer process takes its partitions over; start one", facts)
        end
        JSON.parse(report || "[]", symbolize_names: true).each { |one| stuck(facts, **one) }
      end

      def stuck(facts, topic:, partition:, offset:, since:, backtrace:)
        seconds = (@engine.now - since) / 1000
        place = [partition, *offset].join("/")
        add(:stuck, "process #{facts[:process]}, member #{facts[:member]} of group " \
          "#{facts[:group]}, has run a handler of topic #{topic}, #{place}, for #{seconds} s: " \
          "see where it is; if it hangs, end the process",
          facts.merge(partition: partition, offset: offset, seconds: seconds,
            backtrace: backtrace))
      end

      def group(group, living)
        facts = {group: group.group, topic: group.topic}
        names = facts.values.join(" ")
        if group.lag > 0 && living.zero?
          add(:no_member, "group #{group.group} has #{group.lag} unread records of topic " \
            "#{group.topic} and no member: start its consumers", facts.merge(lag: group.lag))
        end
        if group.paused
          add(:paused, "an operator has paused topic #{group.topic} in group #{group.group}: " \
            "`godwit-work resume #{names}`", facts)
        end
        isolated(facts)
      end

      def isolated(facts)
        topic = @engine.topic(facts[:topic])
        @engine.positions(facts[:group], topic).each do |one|
          next if one.crashes < Assignment::CRASHES
          offset = one.noted || one.watermark
          add(:isolated, "the process of group #{facts[:group]} died #{one.crashes} times at " \
            "topic #{topic.name}, #{one.partition}/#{offset}: its records run one at a time; " \
            "the third time makes the record a dead letter",
            facts.merge(partition: one.partition, offset: offset, crashes: one.crashes))
        end
      end

      def held(topic, group, count)
        add(:held, "retention keeps #{count} old records of topic #{topic}, which group #{group} " \
          "has not read: start its consumers, or `godwit-work seek #{group} #{topic} --to latest`",
          {group: group, topic: topic, records: count})
      end
    end
  end
end
