# frozen_string_literal: true

require "work_helper"
require "support/timed"

# How soon consumers take over and end, what a kill repeats, and what they cost while idle.
class WorkTimingTest < Godwit::WorkCase
  include Godwit::TestSupport::Timed

  deadline 120
  Work = Godwit::Work
  TAKEOVER = 1.0 # seconds until the partitions of a killed process run elsewhere
  UNCOMMITTED = 0.1 # seconds before a kill: records that ended in that time may run again
  IDLE = 0.005 # the share of a core that a process without records may use
  WINDOW = 10 # seconds of the measurement of an idle process
  APP = <<~RUBY
    require "godwit/work"

    class Copies < Godwit::Work::Consumer
      topic "in", partitions: 4, format: :text

      def perform(message)
        puts "\#{message.value} \#{Process.clock_gettime(Process::CLOCK_MONOTONIC)}"
        $stdout.flush
        sleep if message.value == "hang"
      end
    end
  RUBY
  # The first 2,000 records take no time, so that batches grow; later records take 10 ms each.
  SLOW = <<~RUBY
    require "godwit/work"

    class Slow < Godwit::Work::Consumer
      topic "slow", partitions: 1, format: :text

      def consume(batch)
        batch.each do |message|
          next if message.offset < 2_000
          sleep 0.01
          done(message)
          puts "\#{message.offset} \#{Process.clock_gettime(Process::CLOCK_MONOTONIC)}"
          $stdout.flush
        end
      end
    end
  RUBY

  def path = File.join(scratch_dir, "work.db")

  def client
    @client ||= own(Work::Client.new(Work.const_get(:SqliteEngine).new(path))).tap do |one|
      one.topic("in", partitions: 4, format: :text)
    end
  end

  def owners = client.engine.positions("copies", client.engine.topics["in"]).map(&:member)

  # @return [Godwit::TestSupport::Children::Child] `godwit-work run`
  def start(program = APP, *options)
    file = File.join(scratch_dir, "app.rb").tap { |app| File.write(app, program) }
    start_command([*GODWIT_WORK, "run", file, *options],
      env: {"GODWIT_WORK_URL" => "sqlite:#{path}"}).wait_for(/^runs /)
  end

  # @return [Hash{String => Float}] the time of each value that the child has handled
  def handled(child) = child.stdout.scan(/^(\S+) (\d\S*)$/).to_h { |value, at| [value, at.to_f] }

  # @return [Float] processor time of a process in seconds; schedstat counts nanoseconds a thread
  def processor(pid)
    Dir["/proc/#{pid}/task/*/schedstat"].sum { |file| File.read(file).to_i } / 1e9
  end

  test "the partitions of a killed process run in another process within a second" do
    client
    other = start
    count = 0
    late = median do
      victim, other = other, start
      eventually { owners.compact.tally.values.sort == [2, 2] }
      killed = monotonic
      victim.signal(:KILL)
      values = Array.new(4) { |partition| "#{count += 1}-#{partition}" }
      client.engine.append(values.each_with_index.map { |value, partition|
        [client.engine.topics["in"], partition, Work.const_get(:Block).encode([value]), 1]
      })
      values.each { |value| other.wait_for(/^#{value} .*\n/) }
      victim.finish
      handled(other).values_at(*values).max - killed
    end
    assert_operator late, :<, TAKEOVER
    other.signal(:TERM).finish
  end

  test "a kill repeats no record that had ended 100 ms before" do
    topic = client.topic("slow", partitions: 1, format: :text)
    client.produce_many("slow", Array.new(4_000) { |index| [index.to_s] })
    random = Random.new(Minitest.seed)
    oldest = median do
      child = start(SLOW, "--workers", "1")
      child.wait_for(/(?:^\d+ .*\n){#{30 + random.rand(40)}}/)
      killed = monotonic
      ended = handled(child.signal(:KILL).tap(&:finish))
      position = client.engine.positions("slow", topic).first
      progress = Work.const_get(:Progress).new(position.watermark, position.state)
      client.seek("slow", "slow", to: :earliest)
      killed - ended.reject { |offset, _| progress.finished?(offset.to_i) }.values.min.to_f
    end
    assert_operator oldest, :<, UNCOMMITTED * 1.5
  end

  test "an idle process uses less than half a percent of a core" do
    client
    child = start
    eventually { owners.none?(&:nil?) }
    client.produce("in", "a")
    child.wait_for(/^a /) # by now the process has loaded all its files
    before = processor(child.pid)
    sleep WINDOW
    assert_operator processor(child.pid) - before, :<, IDLE * WINDOW
    child.signal(:TERM).finish
  end

  # @yield [child] whose handler hangs
  # @return [Float] seconds until the child has ended, from the end of the block
  def hang(*options)
    client.produce("in", "hang")
    child = start(APP, *options).wait_for(/^hang /)
    yield child
    seconds { child.finish }
  ensure
    client.seek("copies", "in", to: :latest)
  end

  test "a second signal ends run at once; --drain says how long the first one waits" do
    at_once = median { hang { |child| child.signal(:TERM).wait_for(/^stops when/).signal(:INT) } }
    assert_operator at_once, :<, PROMISED
    drained = median(3) { hang("--drain", "0.5") { |child| child.signal(:TERM) } }
    assert_includes 0.5..1.0, drained
  end
end
