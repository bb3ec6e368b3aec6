# frozen_string_literal: true

module Godwit
  module Work
    # What reads records into assignments and commits them. The class that includes it has `path`,
    # `now`, `taken?` and `work_available`.
    # @private
    module Coordination
      READ = 256 << 10 # bytes that are read at a time
      private_constant :READ

      # @return [String]
      def inspect = "#<#{self.class} #{@classes.join(", ")}>"

      private

      def check(classes)
        unless classes.is_a?(Array) && classes.any? && classes.all? { |klass| consumer?(klass) }
          raise Godwit::Errors.bad_value(:run, "classes", "an Array of classes of consumers",
            classes)
        end
        classes.each { |klass| check_class(klass) }
        twice = classes.group_by { |klass| [klass.settings.topic, klass.group_name] }
          .values.find { |same| same.size > 1 } or return
        raise Godwit::Errors.of(StateError, :run, "#{twice.join(" and ")} have one topic and " \
          "group: give one of them another group")
      end

      # @raise [ArgumentValueError]
      def check_settings(workers, drain, evict_after)
        Godwit::Errors.check_positive(:run, "workers:", "threads, 1 or more", workers)
        if drain && (Declaration.finite(drain) || -1) < 0
          raise Godwit::Errors.bad_value(:run, "drain:", "seconds, 0 or more, or nil", drain)
        end
        return if evict_after.nil? || (Declaration.finite(evict_after) || 0) > 1
        raise Godwit::Errors.bad_value(:run, "evict_after:", "seconds, more than 1, or nil",
          evict_after)
      end

      # The workers and members of a run belong to it alone.
      def begin_once
        @lock.synchronize do
          return @began = true unless @began
        end
        raise Godwit::Errors.of(StateError, :run, "this runner runs already, or has ended: make " \
          "another with Godwit::Work::Runner.new")
      end

      def check_class(klass)
        klass.batches?
        return unless klass.settings.topic && klass.dead_letters == klass.settings.topic
        raise Godwit::Errors.of(StateError, :run, "#{klass}: dead_letter names the class's own " \
          "topic, so its records would run for ever: name another")
      end

      def consumer?(klass) = klass.is_a?(Class) && klass < Consumer

      def join(klass)
        topic = klass.declare(@client)
        @client.dead_letters(klass.dead_letters, topic)
        starts = @client.starts(topic, klass.settings.start_from)
        @engine.join(klass.group_name, topic, path, starts)
      end

      # @param partitions [Array<Integer>, nil] ids of those that have new records; nil: all
      def fetch(partitions = nil)
        time = now
        version = @engine.version unless partitions # a record that just came need not wait for it
        @assignments.each do |one|
          next if partitions && !partitions.include?(one.id)
          one.wake(time)
          read_or_report(one, version) if one.hungry? && (partitions || one.exhausted != version)
          work_available(one.waiting)
        end
        work_available(1) if taken?
        @hooks.each do |klass, hooks|
          hooks.idle(!partitions && up_to_date?(klass, version)) if hooks.has?(:idle)
        end
      end

      # @return [Boolean] whether all records of its partitions are handled
      def up_to_date?(klass, version)
        own = of(klass)
        own.any? && own.all? { |one| one.up_to_date?(version) }
      end

      # A damaged block stops its partition alone.
      def read_or_report(assignment, version)
        read(assignment, version)
      rescue Error => error
        assignment.exhausted = version
        report(error)
      end

      def read(assignment, version)
        sources = @client.fetch(assignment.position, assignment.fetched, READ)
          .select { |source| source.finish > assignment.fetched }
        assignment.exhausted = version if sources.empty?
        sources.each do |source|
          next unless assignment.hungry?
          skipped(assignment, source) if source.block.behind_gap
          assignment.feed(source)
        end
      end

      # Retention has deleted records that the group has not read.
      def skipped(assignment, source)
        @client.events.emit(:skipped, topic: assignment.topic.name, partition: assignment.partition,
          from: assignment.fetched, to: source.offset)
      end

      def retain
        more, held = @engine.retain
        return @loop.post { retain } if more
        held.each do |topic, records|
          @client.events.emit(:retention_held, topic: topic, records: records)
        end
      end

      def commit = lose(@committer.commit(@assignments))

      def report(error) = @client.events.emit(:error, error: error)

      def handler(assignment)
        Handler.new(assignment, @client, @committer, method(:now))
      end

      # In a process one isolated record runs at a time, and the commit before the next removes the
      # note: only the record that ends the process is noted then.
      def note(assignment, taken)
        @engine.note(assignment.position, taken[0][1][0].offset)
      rescue LostError
        nil # the next commit will see it
      rescue Error => error
        report(error) # the commit will fail, too
      end
    end
  end
end
