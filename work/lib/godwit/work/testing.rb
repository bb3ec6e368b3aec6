# frozen_string_literal: true

require "godwit/work"

module Godwit
  module Work
    # Runs consumers in memory, one record after the other, for tests.
    #
    #   work = Godwit::Work::Testing.new(Payments)
    #   work.produce "payments", {id: 1}, key: "42"
    #   work.drain                          # => 1
    #   work.values("payments.dead")        # => []
    #
    # A handler's retry runs when the test has advanced the clock. **Threads**: one at a time.
    class Testing
      MOST = 1 << 20 # more than the records of a partition: {Assignment#dequeue} returns all
      # The thread variable with the client of the Testing object that runs.
      CURRENT = :godwit_work_testing

      # Lets Work.client return the Testing object's client in a handler or a hook.
      module Current
        # @return [Client]
        def client = Thread.current.thread_variable_get(CURRENT) || super
      end

      # Replaces {Workers}, without threads: {Testing#drain} runs the records.
      module Inline
        class << self
          def wake(_lanes = 0) = nil
          def untouched? = false
          def ran_alone = nil
        end
      end
      private_constant :MOST, :CURRENT, :Current, :Inline
      Work.singleton_class.prepend(Current)

      # @param classes [Array<Class>] of {Consumer}
      # @raise (see Runner#initialize)
      def initialize(*classes)
        @classes = classes
        @engine = MemoryEngine.new
        @client = Client.new(@engine)
        @coordinator = Coordinator.new(classes, @client, Inline, threads: false,
          clock: -> { clock.call / 1000.0 }) { "" }
        @events = []
        @client.on(*Events::NAMES - %i[moved]) { |event| @events << event }
        @slow = false
        inside { start }
      end

      # @return [Array<Events::Event>] all events so far, except `moved`
      attr_reader :events
      # @return [Client] of the log in memory
      attr_reader :client

      # @return [#advance] the clock: `clock.advance 60` adds a minute
      def clock = @engine.clock

      # @param topic [String]
      # @param value [Object, nil]
      # @param options [Hash] as {Client#produce}
      # @return [Receipt]
      # @raise (see Client#produce)
      def produce(topic, *value, **options) = @client.produce(topic, *value, **options)

      # Runs all records that can run now, and commits.
      # @return [Integer] records that ran, retries included
      def drain
        @before = positions
        inside { run_all }
      end

      # Simulates kill -9 and the start of another process. Uncommitted records run again.
      # @return [nil]
      def crash!
        @engine.dead.concat(@coordinator.members.each_value.map(&:id))
        inside { start }
      end

      # Moves all partitions to other members, after a commit.
      # @return [nil]
      def rebalance!
        inside do
          @coordinator.commit
          @coordinator.stop
          @coordinator.revoke
          @coordinator.members.each_value { |member| @engine.leave(member.id) }
          start
        end
      end

      # Simulates the stop of the process by TERM, and the start of another process.
      # @return [nil]
      def restart!
        inside { @coordinator.hooks.each_value { |hooks| hooks.call(:stopping) } }
        rebalance!
      end

      # Lets the records of the last {#drain} run again, as if kill -9 had come before their commit.
      # @return [nil]
      def duplicate!
        before = @before or return
        @coordinator.members.each do |klass, member|
          @engine.leave(member.id)
          @engine.set(klass.group_name, member.topic, offsets: before.fetch(klass))
        end
        inside { start }
      end

      # Commits only when the block ends, so that records run again after a {#crash!} in the block.
      # @return [Object] the block's value
      def slow_commits
        @slow = true
        yield
      ensure
        @slow = false
        inside { @coordinator.commit }
      end

      # @param topic [String]
      # @return [Array<Object>] the values of a topic, such as a topic of outputs or of dead
      #   letters. The order of partitions is undefined
      def values(topic) = @client.each(topic).map(&:value)

      # @param klass [Class] of {Consumer}
      # @return [Integer] records of the class's topic that are finished and committed
      def committed(klass)
        member = @coordinator.members.fetch(klass)
        @engine.positions(klass.group_name, member.topic).sum do |one|
          Progress.new(one.watermark, one.state).count
        end
      end

      # @return [String]
      def inspect = "#<#{self.class} #{@classes.join(", ")}>"

      private

      # @return [Object] the block's value
      def inside
        thread = Thread.current
        before = thread.thread_variable_get(CURRENT)
        thread.thread_variable_set(CURRENT, @client)
        yield
      ensure
        thread.thread_variable_set(CURRENT, before)
      end

      # @return [Integer] records that ran, retries included
      def run_all
        ran = 0
        loop do
          coordinate
          chunks = @coordinator.assignments.filter_map do |one|
            (lanes = one.dequeue(MOST, MOST)) && [one, lanes]
          end
          break ran if chunks.empty?
          chunks.each { |one, lanes| ran += run(one, lanes) }
        end
      end

      def start
        @handlers = {}
        @coordinator.join
        @coordinator.rebalance
        @engine.dead.clear
        nil
      end

      def coordinate
        @coordinator.rebalance
        @coordinator.commit unless @slow
        @coordinator.fetch
      end

      def run(assignment, lanes)
        @coordinator.note(assignment, lanes) if assignment.isolated?
        handler = @handlers[assignment] ||= @coordinator.handler(assignment)
        lanes.sum do |lane, messages|
          size = messages.size
          retried = handler.run(lane, messages) ? 1 : 0
          size - messages.size + retried
        end
      end

      # @return [Hash{Class => Array<Integer>}] the watermarks of each class's partitions
      def positions
        @coordinator.members.to_h do |klass, member|
          [klass, @engine.positions(klass.group_name, member.topic).map(&:watermark)]
        end
      end
    end
  end
end
