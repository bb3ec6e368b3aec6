# frozen_string_literal: true

require "forwardable"
require "godwit/fork_detector"

module Godwit
  module Work
    # A log in a Kafka cluster.
    #
    # **Fork**: a child must connect anew.
    # @private
    class KafkaEngine
      extend Forwardable

      LACKS = %i[transaction evict fork].freeze
      CONNECT = 8 # most seconds that the brokers' first reply may take
      COMMIT_EVERY = 0.1 # seconds between two commits: each one needs a request
      QUARTER = 4 # how often `version` changes in a second

      def initialize(settings)
        Kafka::Native.open(Kafka::Library.find.path)
        @forks = ForkDetector::COUNT[0]
        @settings = settings
        @producer = @writer = make_producer
        @lock = Mutex.new
        handle = @producer.handle
        @cluster = Kafka::Cluster.new(handle, settings.timeout) { @producer.problem }
        @groups = Kafka::Groups.new(settings, @cluster)
        @reader = Kafka::Reader.new(settings, @cluster)
        @state = Kafka::State.new(settings, @cluster, &method(:write_state))
        @topics = Kafka::Topics.new(@cluster, @state, settings)
        @operator = Kafka::Operator.new(@groups, @topics, @state)
        @memberships = {}
        @wake_ups = {}
        @wakes = @wake_up_count = 0
        @closed = false
        Kafka::ENGINES.add(self)
        check
      end

      attr_reader :settings, :cluster, :groups, :state

      def_delegator :@topics, :all, :topics
      def_delegator :@topics, :save, :save_topic
      def_delegators :@operator, :members, :positions, :set, :restore

      def append(batches)
        one = @writer
        one.append(batches)
      rescue ClosedError
        # The writer was closed before it sent anything. Another thread may have replaced it.
        retry unless @closed || one.equal?(@writer)
        raise
      rescue AccessError, BrokerError
        replace(one)
        raise
      end

      def read(topic, partition, offset, bytes)
        @reader.read(topic.name, partition, offset, bytes)
      end

      def fetch(position, offset, bytes)
        membership(position.member).fetch(position, offset, bytes)
      end

      def bounds(topic, since = 0) = @cluster.bounds(topic.name, topic.partitions, since)

      # The version changes with each rebalance of a member, and four times a second.
      def version = [@wakes, (Timeout.now * QUARTER).floor]
      def lacks = LACKS
      def commit_every = COMMIT_EVERY

      # @return [Kafka::WakeUp] a new one, for a runner
      # @raise [UnsupportedError] when the brokers have no transactions
      def listen
        @wake_ups.delete_if { |_, one| one.closed? }
        outputs = Kafka::Outputs.new(@settings)
        outputs.start if @settings.transactions?
        name = "pipe #{@wake_up_count += 1}"
        @wake_ups[name] = Kafka::WakeUp.new(name, outputs)
      end

      def join(group, topic, path, starts)
        starts = first_positions(group, topic, starts)
        one = Kafka::Membership.new(self, group, topic, starts, @wake_ups.fetch(path) { listen })
        @memberships[one.mark] = one
        Member.new(one.mark, group, topic, path)
      end

      def rebalance(member, _evicted = [])
        @wakes += 1
        @state.poll
        one = membership(member.id)
        one.share.tap { member.topic = one.topic }
      rescue LostError
        leave(member.id) # the caller joins again, and the group must not wait for this member
        raise
      end

      def commit(positions, statements = nil)
        Contract.need(self, :transaction) if statements
        batches = block_given? ? yield : []
        owners = positions.group_by { |one| membership(one.member) }
        written = batches.any? ? transaction(batches, owners) : commit_each(owners)
        owners.each { |owner, own| owner.committed(own) }
        written
      end

      def release(positions)
        positions.group_by(&:member).each { |id, own| @memberships[id]&.release(own) }
      end

      def leave(member)
        one = @memberships.delete(member) or return false
        one.close
        true
      end

      def note(position, offset)
        membership(position.member).note(position, offset)
      end

      def report(member, text)
        @state.write("report", member.id, text && {"text" => text})
      end

      def storage(_check)
        [{brokers: @settings.url.brokers, librdkafka: Kafka::Library.find.version,
          topics: topics.size, rights: Kafka::Rights.lines}, []]
      end

      # Deletes nothing: the brokers delete old records.
      def retain = [false, {}]
      def held = {}

      def close
        return if @closed || @forks != ForkDetector::COUNT[0] # a forked child owns no handles
        @closed = true
        @memberships.values.each(&:close) # `values` is a copy: a runner may change the Hash
        @memberships.clear
        [*@wake_ups.values.map(&:outputs), @reader, @state, @writer, @producer, @groups].uniq
          .each(&:close)
        nil
      end

      def closed? = @closed
      def inspect = "#<#{self.class} #{@settings.url}#{" (closed)" if closed?}>"

      private

      # @raise [Error] with the cause, when no broker answers
      def check
        @cluster.topics([@settings.timeout, CONNECT].min)
      rescue
        close
        raise
      end

      def make_producer = Kafka::Producer.new(settings.producer, settings.timeout)

      # Replaces a writer that had a fatal error. The first producer stays open, since its handle
      # serves all other requests.
      def replace(one)
        @lock.synchronize do
          next if @closed || !@writer.equal?(one) || !one.ended?
          @writer = make_producer
          one.close unless one.equal?(@producer)
        end
      end

      def membership(id)
        @memberships[id] || raise(LostError, "member #{id} has left its group: join again")
      end

      def transaction(batches, owners)
        commits = owners.map { |owner, own| [owner, owner.entries(own)] }
        return owners.keys.first.outputs.commit(batches, commits) if @settings.transactions?
        append(batches).tap { commit_each(owners) } # a crash before the commit repeats the outputs
      end

      def commit_each(owners)
        owners.each { |owner, own| owner.commit(own) }
        []
      end

      # Commits the start of a new group before its first claim, if the group has no members.
      # @return [Hash{Integer => Integer}] where the group begins in partitions without a commit
      def first_positions(group, topic, starts)
        wanted = Array.new(topic.partitions) do |number|
          Kafka::PartitionList::Entry.new(topic.name, number)
        end
        found = @groups.committed(group, wanted)
        # The group has committed before: a partition without a commit is new, and begins at 0.
        return {} if found.any? { |one| one.offset >= 0 }
        wanted.each { |one| one.offset = starts[one.partition] }
        begin
          @groups.set(group, wanted)
        rescue Error, LostError
          nil # the group has members for other topics: the first claim commits the start
        end
        starts.each_with_index.to_h { |start, number| [number, start] }
      end

      def write_state(block, count)
        append([[Topic.new(name: Kafka::State::TOPIC), 0, block, count]])
      end
    end
    Contract.check(KafkaEngine)
  end
end
