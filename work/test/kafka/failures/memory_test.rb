# frozen_string_literal: true

require "support/kafka_failures"

# The memory of a process that writes many records, and of a process that handles them.
class WorkKafkaMemoryTest < Godwit::KafkaFailureCase
  deadline 900
  RECORDS = 10_000_000
  STEP = 1_000_000
  SETTLED = 3 # steps until the queues, the heap and malloc's pools have their final size
  GROWTH = 8 << 10 # most KiB that the later steps may add: about 1 byte for each record

  # Measures the resident memory (KiB) after each STEP records, and prints all sizes at the end.
  MEASURE = <<~'RUBY'
    require "godwit/work"
    require "json"
    SETTINGS = JSON.parse(ARGV[0])
    STEP, RECORDS = SETTINGS.values_at("step", "records")
    Godwit::Work.connect(SETTINGS["url"], kafka: {"compression.type" => "lz4"})
    SIZES = []
    def measure
      GC.start
      SIZES << File.read("/proc/self/status")[/VmRSS:\s*(\d+)/, 1]
      return if SIZES.size < RECORDS / STEP
      puts "sizes #{SIZES.join(" ")}"
      $stdout.flush
    end
  RUBY
  WRITES = <<~RUBY
    #{MEASURE}
    batch = Array.new(1_000) { |number| ["x" * 90 + number.to_s, number.to_s] }
    (RECORDS / STEP).times do
      (STEP / batch.size).times { Godwit::Work.produce_many(SETTINGS["topic"], batch) }
      measure
    end
    $stdin.read
  RUBY
  READS = <<~RUBY
    #{MEASURE}
    COUNT = [0, STEP]
    class Counts < Godwit::Work::Consumer
      topic SETTINGS["topic"], format: :raw, partitions: 2
      group SETTINGS["group"]

      def consume(batch)
        batch.each { |message| message.value && message.key }
        COUNT[0] += batch.size
        return if COUNT[0] < COUNT[1]
        COUNT[1] += STEP
        measure
      end
    end
    runner = Godwit::Work::Runner.new([Counts], workers: 1)
    #{Godwit::WorkCase::RUN}
  RUBY

  # @return [Array<Integer>] the child's resident memory in KiB after each step
  def sizes(child)
    child.wait_for(/^sizes [\d ]+$/)
    child.stdout[/^sizes ([\d ]+)$/, 1].split.map(&:to_i)
  end

  test "ten million records leave the memory of their processes as it is" do
    topic = "#{topic_name}.many"
    client.topic(topic, format: :raw, partitions: 2)
    given = JSON.generate(settings(topic: topic, step: STEP, records: RECORDS))
    children = {"reads" => READS, "writes" => WRITES}
      .transform_values { |program| start_child(program, [given], deadline: 880) }
    @producers.concat(children.values)
    children.each do |what, child|
      found = sizes(child)
      assert_operator found.drop(SETTLED).max - found[SETTLED - 1], :<, GROWTH,
        "#{what}: #{found} KiB"
    end
  end
end
