# frozen_string_literal: true

# Runs a scenario that uses all of godwit-work, in one process after the other. Each process ends by
# SIGKILL before or after one of the calls that write; another finishes its work and checks it.
# The arguments are a folder, how many kills ("all", or a number), and a seed.

require "godwit/work"
require "json"
require "tmpdir"

module Godwit
  module Work
    # Loaded before a fork, so that each process is short.
    LOADED = [Administration, Assignment, Batch, Block, Blocks, Client, CommitQueue, Committer,
      Contract, Database, DeadLetter, Events, Format, Groups, Handler, Message, Operations,
      Processes, Progress, Records, Retention, Schema, SqliteEngine, SqliteFile, StoredTopics,
      Topic, WakeUp].freeze
    private_constant :LOADED

    # Ends the process at its n-th place before or after a call of SQLite that writes.
    module KillsItself
      READS = /\A\s*(?:SELECT|PRAGMA (?!wal_checkpoint))/i
      LOCK = Mutex.new
      private_constant :READS, :LOCK

      class << self
        attr_accessor :at
        attr_reader :calls

        def place(statement)
          return if at.nil? || READS.match?(statement.sql)
          LOCK.synchronize do
            @calls = @calls.to_i + 1
            Process.kill(:KILL, Process.pid) if @calls == at
          end
        end
      end

      # A place is before each `step`, which writes, and before and after `reset!`, which ends the
      # statement.
      def step
        KillsItself.place(self)
        super
      end

      def reset!
        KillsItself.place(self)
        super.tap { KillsItself.place(self) }
      end
    end
    SQLite3::Statement.prepend(KillsItself)

    # The members look at each other often, so that the scenario is short.
    Runner.send(:remove_const, :TICK)
    Runner.const_set(:TICK, 0.02)

    # What all processes note in files, which outlive them.
    module Notes
      class << self
        attr_accessor :folder

        def add(kind, *words) = File.write(path(kind), "#{words.join(" ")}\n", mode: "a")

        # @return [Array<Array<String>>]
        def all(kind)
          File.exist?(path(kind)) ? File.readlines(path(kind), chomp: true).map(&:split) : []
        end

        private

        def path(kind) = File.join(folder, kind)
      end
    end

    # Its outputs, dead letters and rows balance exactly.
    class Payments < Consumer
      topic "payments"
      group "payments"
      parallel by: :key
      retries 1, backoff: 0..0

      def perform(message)
        place = "#{message.partition}/#{message.offset}"
        Notes.add("runs", "payments", place, message.attempt)
        returned = message.headers.assoc("godwit-for-group")
        raise "no" if message.value == "bad" && !returned
        produce("paid", place)
        transaction { |db| db.execute("INSERT INTO effects VALUES (?)", place) } if
          message.value == "row"
      end
    end

    # Handles batches; an operator seeks, pauses and evicts it.
    class Audits < Consumer
      topic "payments"
      group "audits"
      dead_letter false

      def consume(batch)
        batch.each do |message|
          Notes.add("runs", "audits", "#{message.partition}/#{message.offset}", message.attempt)
        end
      end
    end

    # One process after the other on one file.
    class Scenario
      CLASSES = [Payments, Audits].freeze
      VALUES = %w[plain row bad plain].freeze
      WAIT = 30 # seconds: it catches a hang
      private_constant :CLASSES, :VALUES, :WAIT

      # @param folder [String] for the log and the notes
      def initialize(folder)
        @path = File.join(folder, "work.db")
        Notes.folder = folder
        SQLite3::Database.new(@path).execute("CREATE TABLE effects (place TEXT)")
      end

      # @param at [Integer] the place where it ends
      # @return [Boolean] whether it came to its end
      def first_process(at)
        wait(fork do
          KillsItself.at = at
          connect
          all_kinds_of_work
          Work.client.close
          Notes.add("places", KillsItself.calls)
          exit!(0)
        end)
      end

      # Finishes the work.
      # @return [String] problems, or ""
      def second_process
        reader, writer = IO.pipe
        wait(fork do
          writer.write(finish.join("\n"))
          exit!(0)
        rescue Exception => error # standard:disable Lint/RescueException
          writer.write(error.full_message)
          exit!(1)
        end)
        writer.close
        reader.read
      end

      private

      # @return [Boolean] whether it ended well
      def wait(pid) = Process.wait2(pid).last.success?

      def connect
        Work.connect("sqlite:#{@path}")
        known = Work.client.topics.map(&:name)
        Work.topic("payments", partitions: 2) unless known.include?("payments") # it grows
        Work.topic("paid", partitions: 1)
        Work.topic("old", partitions: 1, retain: 0.001)
      end

      def all_kinds_of_work
        pay(*VALUES)
        run = start
        settled
        second = start # the first one gives partitions up
        until_true { owners("payments").uniq.size == 2 }
        stop(run)
        stop(second)
        operate
        keep_less
        run = start
        settled
        stop(run)
      end

      def operate
        Work.client.pause("audits", "payments")
        pay("row", "plain")
        run = start
        until_true { lag("payments").zero? }
        Work.client.resume("audits", "payments")
        settled
        Work.client.evict(owners("audits").first)
        letter = Work.client.each("payments.dead").first
        Work.client.requeue("payments.dead", letter.partition, letter.offset)
        settled
        Work.client.grow("payments", 3)
        pay("plain", "row", "bad")
        settled
        Work.client.seek("audits", "payments", to: :earliest)
        settled
        stop(run)
      end

      def keep_less
        30.times { |index| note(Work.produce("old", index), "old") }
        before = Work.client.engine.now
        until_true { Work.client.engine.now > before + 2 }
        Work.client.engine.retain
      end

      def pay(*values)
        values.each_with_index do |value, index|
          note(Work.produce("payments", value, key: index.to_s), "payments")
        end
        Work.produce_many("payments", Array.new(5) { |index| ["plain", "many #{index}"] })
          .each { |receipt| note(receipt, "payments") }
      end

      def note(receipt, topic)
        Notes.add("acknowledged", topic, "#{receipt.partition}/#{receipt.offset}")
      end

      # @return [Array] a runner and its thread
      def start
        runner = Runner.new(CLASSES, workers: 2)
        [runner, Thread.new { runner.run }]
      end

      def stop((runner, thread))
        runner.stop
        thread.join
      end

      def until_true
        deadline = now + WAIT
        until yield
          raise "it hangs: #{caller(1, 3)}" if now > deadline
          sleep 0.002
        end
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      def settled = until_true { CLASSES.all? { |klass| lag(klass.group_name).zero? } }

      def lag(group)
        found = Work.client.groups.find { |one| one.group == group }
        found ? found.lag : 1
      end

      def positions(group)
        Work.client.engine.positions(group, Work.client.engine.topics["payments"])
      end

      def owners(group) = positions(group).map(&:member)

      # @return [Array<String>] problems
      def finish
        connect
        progress = committed
        resume
        earlier = Notes.all("runs")
        run = start
        settled
        stop(run)
        later = Notes.all("runs").drop(earlier.size)
        problems = again(later, progress) + unbalanced + lost
        Work.client.close
        problems
      end

      # The first process may have ended while the operator had paused a group.
      def resume
        Work.client.resume("audits", "payments") if
          Work.client.groups.any? { |one| one.group == "audits" }
      end

      # @return [Hash{Array(String, Integer) => Progress}] by group and partition
      def committed
        CLASSES.map(&:group_name).flat_map do |group|
          positions(group).map do |one|
            [[group, one.partition], Progress.new(one.watermark, one.state)]
          end
        end.to_h
      end

      # No finished record runs again, and no attempt is forgotten.
      def again(runs, progress)
        first = runs.uniq { |group, place, _| [group, place] }
        first.filter_map do |group, place, attempt|
          partition, offset = place.split("/").map(&:to_i)
          before = progress[[group, partition]] or next
          next "#{group} #{place} was finished, and ran again" if before.finished?(offset)
          expected = before.attempts(offset) + 1
          "#{group} #{place} ran as attempt #{attempt}, not #{expected}" if
            attempt.to_i != expected
        end
      end

      # Each record has one output or one dead letter, and a row if it asks for one.
      def unbalanced
        records = Work.client.each("payments").to_h do |one|
          ["#{one.partition}/#{one.offset}", one.value]
        end
        dead = Work.client.each("payments.dead").map do |letter|
          letter.headers.to_h.values_at("godwit-partition", "godwit-offset").join("/")
        end
        rows = SQLite3::Database.new(@path)
        outputs = Work.client.each("paid").map(&:value)
        {
          "outputs and dead letters" => [records.keys, outputs + dead],
          "rows" => [records.select { |_, value| value == "row" }.keys,
            rows.execute("SELECT place FROM effects").flatten],
          "integrity" => [["ok"], rows.execute("PRAGMA integrity_check").flatten]
        }.filter_map do |what, (expected, found)|
          if found.sort != expected.sort
            "#{what}: #{found.sort - expected} too many, #{expected - found} too few, " \
              "#{found.tally.select { |_, count| count > 1 }}"
          end
        end
      end

      # Each acknowledged record is there, and both groups handled it.
      def lost
        handled = Notes.all("runs").to_h { |group, place, _| [[group, place], true] }
        Notes.all("acknowledged").flat_map do |topic, place|
          if topic == "old"
            finish = Work.client.engine.bounds(Work.client.engine.topics["old"])[0].last
            next (finish > place.split("/").last.to_i) ? [] : "old #{place} is lost"
          end
          CLASSES.map(&:group_name).reject { |group| handled[[group, place]] }
            .map { |group| "#{group} never handled #{place}" }
        end
      end
    end

    # Runs the scenario once for each place, and prints what does not balance.
    class StatementKills
      # @param folder [String]
      # @param most [Integer, nil] kills; nil: one at each place
      # @param random [Random] chooses the places
      def initialize(folder, most, random)
        @folder = folder
        @most = most
        @random = random
      end

      # Prints the number of kills last.
      def run
        kill(1 << 60) # it completes, and counts the places
        places = (1..@count).to_a
        places = places.sample(@most, random: @random) if @most
        kills = places.count { |at| !kill(at) }
        # The number of places differs a little from run to run.
        kills += (@count + 1..).take_while { |at| !kill(at) }.size unless @most
        puts "#{kills} kills at #{@count} places"
      end

      private

      # @return [Boolean] whether the process completed the scenario before this place
      def kill(at)
        Dir.mktmpdir(nil, @folder) do |folder|
          scenario = Scenario.new(folder)
          completed = scenario.first_process(at)
          problems = scenario.second_process
          puts "place #{at}: #{problems}" unless problems.empty?
          @count ||= Notes.all("places")[0][0].to_i
          completed
        end
      end
    end

    folder, most, seed = ARGV
    StatementKills.new(folder, (most.to_i if most != "all"), Random.new(seed.to_i)).run
  end
end
