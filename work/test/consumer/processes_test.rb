# frozen_string_literal: true

require "work_helper"

# Handlers that fork, or end their process.
class WorkProcessesTest < Godwit::WorkCase
  Work = Godwit::Work
  # A process that consumes the topic "in" by key, and writes each value to "out". The second
  # argument is the value of the record that ends the process.
  CONSUMES = <<~RUBY
    require "godwit/work"
    #{CONNECT}
    class Copies < Godwit::Work::Consumer
      topic "in", partitions: 4, format: :text
      parallel by: :key

      def perform(message)
        produce("out", message.value)
        puts "handled 39" if message.value == "39"
        exit!(1) if message.value == ARGV[1]
      end
    end
    Godwit::Work.topic("out", partitions: 2, format: :text)
    runner = Godwit::Work::Runner.new([Copies], workers: 4)
    #{RUN}
  RUBY

  def client
    @client ||= own(Work::Client.new(shared_engine)).tap do |client|
      client.topic("in", partitions: 4, format: :text)
      client.topic("out", partitions: 2, format: :text)
    end
  end

  def values = client.each("out").map(&:value)

  test "a handler that forks: the child runs no other record and commits nothing" do
    not_on :kafka, "a forked child must connect anew: librdkafka's threads are in the parent"
    client
    child = start_child(<<~RUBY, [url])
      require "godwit/work"
      #{CONNECT}
      STATUSES = Thread::Queue.new
      class Forks < Godwit::Work::Consumer
        topic "in", partitions: 4, format: :text

        def perform(message)
          produce("out", message.value)
          case message.value
          when "block" then note(fork { produce("out", "child") })
          when "transaction" then transaction { note(fork) }
          else note(fork)
          end
        end

        def note(pid) = pid && STATUSES << Process.wait2(pid).last.exitstatus
      end
      runner = Godwit::Work::Runner.new([Forks], workers: 1)
      thread = Thread.new { runner.run }
      p Array.new(3) { STATUSES.pop }
      runner.stop
      thread.join
    RUBY
    client.produce_many("in", %w[fork block transaction].map { |value| [value, "k"] })
    result = assert_child(child.finish)
    assert_equal ["[0, 0, 0]\n", ""], [result.stdout, result.stderr]
    assert_equal %w[block fork transaction], values.sort
    assert_empty client.each("in.dead").to_a
  end

  # Only ends of the process at the same watermark add up, and commits of earlier records move the
  # watermark. After two ends at one watermark, a third makes the running record a dead letter.
  test "a record that ends its process three times is a dead letter, also behind others" do
    client.produce_many("in", (0...40).map { |number| [number.to_s, "key"] })
    places = []
    until places[-2] && places[-2] == places[-3]
      assert_equal 1, start_child(CONSUMES, [url, "20"]).finish.status.exitstatus
      places << client.engine.positions("copies", client.engine.topics["in"]).sum(&:watermark)
      assert_operator places.size, :<, 24, places.inspect
    end
    process = start_child(CONSUMES, [url, "20"]).wait_for("handled 39")
    eventually { values.size == 39 }
    letter = nil
    eventually { letter = client.each("in.dead").first }
    assert_equal ["20", "Godwit::StateError: the process ended three times while this record ran"],
      [letter.value, letter.headers.to_h["godwit-error"]]
    assert_child process.signal(:TERM).finish
  end
end
