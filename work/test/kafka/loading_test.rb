# frozen_string_literal: true

require "work_helper"

# Tests which libraries a process loads if its log is a file, and if its log is Kafka.
class WorkKafkaLoadingTest < Godwit::WorkCase
  # Ruby of a child: runs a consumer on the log at the URL ARGV[0], and prints the loaded libraries.
  PROGRAM = <<~RUBY
    require "godwit/work"
    Godwit::Work.connect(ARGV[0])
    class Copies < Godwit::Work::Consumer
      SEEN = Thread::Queue.new
      topic "in", partitions: 1
      def perform(message) = SEEN << produce("out", message.value)
    end
    %w[in out].each { |name| Godwit::Work.topic(name, partitions: 1) }
    Godwit::Work.produce("in", 1)
    runner = Godwit::Work::Runner.new([Copies])
    thread = Thread.new { runner.run }
    Copies::SEEN.pop
    Godwit::Work.client.groups
    Godwit::Work.client.doctor
    runner.stop
    thread.join
    # Kafka answers before the end of the transaction is in all partitions.
    Thread.pass until (values = Godwit::Work.each("out").map(&:value)).any?
    p values
    files = File.readlines("/proc/self/maps").filter_map { |line| line[%r{/.*}] } + $LOADED_FEATURES
    puts files.grep(/#{"sqlite|rdkafka|kafka|ffi/ffi|ffi_c|libffi".gsub("/", "\\/")}/i)
  RUBY

  def loaded(url)
    found, *files = assert_child(run_child(PROGRAM, [url])).stdout.lines(chomp: true)
    assert_equal "[1]", found
    files.uniq
  end

  test "with a file: no librdkafka, no extension for it, and no ffi" do
    files = loaded("sqlite:#{File.join(scratch_dir, "work.db")}")
    assert_equal [true], files.map { |file| file.include?("sqlite") }.uniq, files
  end

  test "with Kafka: no sqlite3" do
    url = KafkaLog.url
    KafkaLog.clean
    files = loaded(url)
    assert_empty files.grep(/sqlite/i)
    %w[librdkafka kafka_ext ffi_c].each do |name|
      assert files.any? { |file| file.include?(name) }, name
    end
  end

  test "two threads that load librdkafka at once attach each function once" do
    result = run_child(<<~RUBY)
      require "godwit/work"
      functions = Godwit::Work.const_get(:Kafka)::Functions
      functions.define_singleton_method(:ffi_lib) do |path|
        if Thread.current == Thread.main
          other = Thread.new { load }
          Thread.pass until other.stop?
        end
        super(path)
      end
      names = []
      functions.define_singleton_method(:attach_function) do |name, *arguments, **options|
        names << name
        super(name, *arguments, **options)
      end
      functions.load
      p names.include?(:new), names.tally.values.max
    RUBY
    assert_equal "true\n1\n", assert_child(result).stdout
  end
end
