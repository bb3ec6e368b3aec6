# frozen_string_literal: true

require "json"

module Godwit
  module Work
    # Finds out why records are not handled: see {Client#doctor}.
    # @private
    class Doctor
      # @param check [Boolean] whether to search the whole log for damaged blocks
      def initialize(client, check)
        @client = client
        @engine = client.engine
        @check = check
        @findings = []
      end

      def diagnose
        storage, damage = @engine.storage(@check)
        damage.each { |text| damaged(text) }
        check_groups
        Administration::Diagnosis.new(storage: storage.freeze, findings: @findings.freeze).freeze
      end

      private

      def check_groups
        members = @engine.members
        members.each { |one| member(one) }
        isolated = @engine.positions.select { |one| one.crashes >= Assignment::CRASHES }
          .group_by(&:reader)
        @client.groups.each do |group|
          own = [group.group, group.topic]
          group(group, members.count { |one| one.alive && one.reader == own })
          isolated.fetch(own, []).each { |one| isolated(one) }
        end
        @engine.held.each { |(topic, name), count| held(topic, name, count) }
      rescue CorruptError => error
        damaged(error.message)
      end

      def add(kind, text, details)
        @findings << Administration::Finding.new(kind: kind, text: text,
          details: details.freeze).freeze
      end

      def damaged(text)
        add(:damaged, "the log is damaged: restore it from a backup: #{text}", {})
      end

      def member(one)
        facts = one.facts
        unless one.alive
          return add(:dead_member, "#{one.name} has died: a consumer process takes its " \
            "partitions over; start one", facts)
        end
        add(:silent, one.advice, facts.merge(seconds: one.silent.floor)) if one.silent?
        JSON.parse(one.report || "[]", symbolize_names: true).each { |stuck| stuck(facts, **stuck) }
      end

      def stuck(facts, topic:, partition:, offset:, since:, backtrace:)
        seconds = ((Time.now.to_r * 1000).to_i - since) / 1000
        where = [partition, *offset].join("/")
        add(:stuck, "process #{facts[:process]}, member #{facts[:member]} of group " \
          "#{facts[:group]}, has run a handler of topic #{topic}, #{where}, for #{seconds} s: " \
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
      end

      def isolated(one)
        offset = one.noted || one.watermark
        add(:isolated, "the process of group #{one.group} died #{one.crashes} times at topic " \
          "#{one.topic.name}, #{one.partition}/#{offset}: its records run one at a time; the " \
          "third time makes the record a dead letter", {group: one.group, topic: one.topic.name,
          partition: one.partition, offset: offset, crashes: one.crashes})
      end

      def held(topic, group, count)
        add(:held, "retention keeps #{count} old records of topic #{topic}, which group #{group} " \
          "has not read: start its consumers, or `godwit-work seek #{group} #{topic} --to latest`",
          {group: group, topic: topic, records: count})
      end
    end
  end
end
