# frozen_string_literal: true

module Godwit
  module Work
    # Copies the topics of a log to another log, then the positions of its groups. Records keep
    # their partitions, order, times, keys and headers; in the other log their offsets begin at 0.
    # A copy that was interrupted goes on where the other log ends.
    #
    # **Threads**: one.
    # @private
    class LogCopy
      READ = 1 << 20 # approximate bytes of one read
      # A topic's number of records, and the number of those that the other log had before the copy.
      Count = Struct.new(:topic, :records, :before, keyword_init: true)

      # @param from [Object] an engine, see Contract
      # @param to [Object] an engine
      # @raise [UnsupportedError] when `to` does not accept a copy
      def initialize(from, to)
        Contract.need(to, :copy)
        @from = from
        @to = to
      end

      # @yieldparam count [Count] of a topic, once its records are copied
      # @return [Integer] number of copied positions of groups
      # @raise [StateError] while consumers or producers run
      # @raise [TopicError] for a topic that exists in the other log with other settings or records
      # @raise [Error] of an engine
      def run
        check_members
        check_old
        @topics = @from.topics.values.to_h { |topic| [topic, declare(topic)] }
        @starts = @topics.to_h { |topic, _| [topic.name, @from.bounds(topic).map(&:first)] }
        ends = @topics.to_h { |topic, there| [topic, copy(topic, there) { |one| yield one }] }
        check_producers(ends)
        check_members
        copy_positions.tap { check_members }
      end

      private

      # Checks that no consumer of the copied groups runs on either log: it would change a position.
      def check_members
        groups = @from.positions.map(&:group).uniq
        one = @from.members.find(&:alive) ||
          @to.members.find { |other| groups.include?(other.group) }
        return if one.nil?
        raise Godwit::Errors.of(StateError, :copy, "process #{one.pid || one.id} consumes in " \
          "group #{one.group.inspect}: stop the consumers, and copy again")
      end

      # Checks that no group needs records older than their topic's `retain`: Kafka deletes such
      # records, even if a group has not handled them.
      def check_old
        now = Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond)
        one = @from.positions.find do |position|
          block = @from.read(position.topic, position.partition, position.watermark, 1)
            .find { |found| found.finish > position.watermark }
          retain = position.topic.retain
          block && retain && block.time(0) < now - retain * 1000
        end
        topic, group = one ? [one.topic.name, one.group] : @from.held.keys.first
        return if topic.nil?
        raise Godwit::Errors.of(StateError, :copy, "group #{group.inspect} has not handled " \
          "records of topic #{topic.inspect} that are beyond its retain: let it handle them, or " \
          "declare the topic with a larger retain:, and copy again")
      end

      def check_producers(ends)
        more = ends.sum { |topic, copied| @from.bounds(topic).sum(&:last) - copied.sum }
        return if more.zero? && @from.topics.size == ends.size
        raise Godwit::Errors.of(StateError, :copy, "#{more} records came during the copy: stop " \
          "the producers, and copy again, which goes on where it ended")
      end

      # @return [Topic] the topic in the other log
      def declare(topic)
        there = @to.topics[topic.name]
        difference = there && topic.difference(there)
        if difference
          raise TopicError, "topic #{topic.name.inspect} exists there: #{difference}: delete it " \
            "there"
        end
        there = @to.save_topic(Topic.new(**topic.to_h, ids: nil)) unless there&.format
        return there if %i[retain retain_bytes].all? { |name| topic[name] == there[name] }
        @to.save_topic(Topic.new(**there.to_h, **topic.to_h.slice(:retain, :retain_bytes)))
      end

      # @return [Array<Integer>] for each partition the offset behind its last copied record
      def copy(topic, there)
        before = @to.bounds(there).map(&:last)
        starts = @starts[topic.name]
        ends = Array.new(topic.partitions) do |number|
          offset = starts[number] + before[number]
          check_last(topic, there, number, offset - 1) unless before[number].zero?
          copy_partition(topic, there, number, offset)
        end
        yield Count.new(topic: topic.name, records: ends.sum - starts.sum, before: before.sum)
        ends
      end

      def copy_partition(topic, there, number, offset)
        loop do
          blocks = @from.read(topic, number, offset, READ).select { |one| one.finish > offset }
          return offset if blocks.empty?
          batches = blocks.map do |block|
            gone(topic, number) if block.offset > offset
            batch(there, number, block, offset - block.offset).tap { offset = block.finish }
          end
          written = @to.append(batches).last.first.last
          other(topic, number) unless written == offset - 1 - @starts[topic.name][number]
        end
      end

      # @param first [Integer] index in the block of the first record to copy
      # @return [Array] a batch for an engine's `append`
      def batch(topic, number, block, first)
        records = Array.new(block.count - first) { |index| record(block, first + index) }
        values, keys, headers, times = records.transpose
        bytes = Block.encode(values, (keys if block.keys),
          (headers.map { |pairs| pairs unless pairs.empty? } if block.headers?))
        [topic, number, bytes, records.size, times.pack("q*")]
      end

      def record(block, index)
        [block.values[index], block.keys&.[](index), block.headers(index), block.time(index)]
      end

      # Checks that the last record of the other log's partition equals the record at this offset.
      def check_last(topic, there, number, offset)
        both = [[@from, topic, offset], [@to, there, offset - @starts[topic.name][number]]]
        last = both.map do |engine, one, at|
          block = engine.read(one, number, at, 1).find { |found| found.finish > at }
          record(block, at - block.offset) if block && block.offset <= at
        end
        other(topic, number) if last.uniq.size > 1 || last.first.nil?
      end

      def other(topic, number)
        raise TopicError, "topic #{topic.name.inspect} has other records in partition #{number} " \
          "there: delete the topic there, and copy again"
      end

      def gone(topic, number)
        raise TopicError, "retention has deleted records of topic #{topic.name.inspect}, " \
          "partition #{number}, during the copy: delete the topic there, and copy again"
      end

      # @return [Integer] number of copied positions
      def copy_positions
        found = @from.positions
        there = @topics.to_h { |topic, other| [topic.name, other] }
        restored = found.map { |one| position(one, there.fetch(one.topic.name)) }
        check_behind(restored)
        @to.restore(restored)
        found.select { |one| one.paused == 1 }.map(&:reader).uniq
          .each { |group, topic| @to.set(group, there[topic], paused: true) }
        found.size
      end

      # Refuses to set back a group that has handled more records in the other log.
      def check_behind(restored)
        known = @to.positions.to_h { |one| [[one.reader, one.partition], one.watermark] }
        one = restored.find { |new| known.fetch([new.reader, new.partition], 0) > new.watermark }
        return if one.nil?
        raise Godwit::Errors.of(StateError, :copy, "group #{one.group.inspect} has handled more " \
          "of topic #{one.topic.name.inspect} there than here: its positions stay as they are")
      end

      # Makes a group's position for the other log. The offsets in a position's state are relative
      # to its watermark.
      def position(one, topic)
        progress = Progress.new(one.watermark, one.state)
        start = @starts[topic.name][one.partition]
        progress.finish(one.watermark, start - one.watermark) if start > one.watermark
        Position.new(one.group, topic, one.partition, nil, 0, progress.watermark - start,
          progress.dump, 0, nil, one.paused, nil)
      end
    end
  end
end
