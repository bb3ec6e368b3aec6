# frozen_string_literal: true

require "support/running_consumers"

# The declarations of consumer classes, and the runner's use of them at its start.
class WorkDeclarationsTest < Godwit::WorkCase
  include RunningConsumers

  # @return [Class] a consumer of the topic "t" whose handler raises; the block adds declarations
  def failing(&declarations)
    Class.new(Work::Consumer) do
      topic "t"
      group "g"
      retries 0
      class_eval(&declarations) if declarations
      def perform(message) = raise("no #{message.value}")
    end
  end

  def runner(*classes, **options) = Work::Runner.new(classes, client: client, **options)

  test "dead letters have the format of the topic, here an object" do
    work = Work::Testing.new(failing { topic "t", format: Backwards })
    work.produce("t", 123)
    work.drain
    assert_equal ["321", 123], work.client.each("t.dead").first.then { |one| [one.raw, one.value] }
  end

  test "a format that the process does not know is refused at the start" do
    Work::Client.new(engine).topic("t", format: Backwards)
    [failing, failing { dead_letter false }].each do |klass|
      assert_refused(Work::TopicError,
        -> { runner(klass).run } => /format of its own, .*Backwards: declare it here/)
    end
    assert_equal ["t"], client.topics.map(&:name)
  end

  test "a runner in memory needs no file, and a produce wakes it" do
    @engine = own(Work.const_get(:MemoryEngine).new)
    client.topic("t")
    run_consumers(noting(partitions: nil, format: nil))
    eventually { client.groups.any? }
    client.produce("t", 1)
    assert_equal 1, seen.pop
    eventually { client.groups[0].lag.zero? } # an eviction before the commit repeats the record
    member = client.members.first
    assert_equal [8, nil], [member.partitions, member.pid]
    doctor = client.doctor
    assert_equal [":memory:", 0, 0, []], [*doctor.storage.values.first(3), doctor.findings]
    assert client.evict(member.member)
    eventually { client.members.map(&:member) == [member.member + 1] }
    client.produce("t", 2)
    assert_equal 2, seen.pop
    stop_all
    assert_empty client.members
    refute_path_exists ":memory:.members"
  end

  test "names of any encoding are the same names" do
    client.topic("t".b)
    client.produce("t", 1)
    run_consumers(failing { group "g".b })
    eventually { engine.topics["t.dead"] && dead.any? }
    assert_nil client.pause("g", "t")
    assert_equal [Encoding::UTF_8] * 2,
      [*client.topics.map(&:name).grep("t"), client.groups[0].group].map(&:encoding)
  end

  test "the name of a group comes from the name of its class" do
    {"Billing::CardPayments" => "billing-card_payments", "HTTP2Calls" => "http2_calls"}
      .each do |name, group|
        klass = Class.new(Work::Consumer)
        klass.define_singleton_method(:name) { name }
        assert_equal group, klass.group_name
      end
  end

  test "classes that cannot run name the fix" do
    none = Class.new(Work::Consumer) { topic "t" }
    assert_refused(Godwit::StateError, {
      -> { runner(none) } => /handles nothing: write def perform/,
      -> { runner(failing, failing) } => /have one topic and group/,
      -> { failing { settings.topic = nil }.declare(client) } => /has no topic: write topic "name"/,
      -> { runner(failing { dead_letter "t" }) } => /dead_letter names the class's own topic/,
      -> { runner(failing { settings.group = nil }) } =>
        /has no name, and so no group: write group "name"/
    })
    [[], none, [String], ["Payments"]].each do |wrong|
      assert_raises(Godwit::ArgumentValueError, wrong.inspect) do
        Work::Runner.new(wrong, client: client)
      end
    end
  end

  # A method, or a keyword of Runner.new => its wrong arguments, and the text of their errors.
  WRONG = {
    group: [[:billing, nil, "", "\xff", "\xff".b, "a\0"], /group takes a String/],
    start_from: [[:middle, nil], /from takes :earliest/],
    retries: [[-1, nil, 1.5], /count takes 0 or more/],
    backoff: [[5, 5..1, ..5, 0.., 1..nil, 0..Float::INFINITY], /backoff: takes a Range of seconds/],
    parallel: [[5, :keys], /by: takes :key, :partition or a lambda/],
    stuck_after: [[0, -1, "x", Complex(1, 1), Float::INFINITY], /seconds takes more than 0/],
    workers: [[0, -1, nil, 1.5], /workers: takes threads, 1 or more/],
    drain: [[-1, "5", Complex(1, 1), Float::INFINITY], /drain: takes seconds, 0 or more, or nil/],
    evict_after: [[0, 1, -1, "60", Float::NAN], /evict_after: takes seconds, more than 1, or nil/]
  }.freeze

  WRONG.each do |name, (values, says)|
    test "wrong arguments: #{name}" do
      values.each do |value|
        error = assert_raises(Godwit::ArgumentValueError, value.inspect) { declare_as(name, value) }
        assert_match says, error.message
      end
    end
  end

  def declare_as(name, value)
    case name
    when :backoff then failing.retries(1, backoff: value)
    when :parallel then failing.parallel(by: value)
    when :workers, :drain, :evict_after then runner(failing, name => value)
    else failing.public_send(name, value)
    end
  end

  test "numbers of any class are seconds" do
    klass = failing
    klass.retries(1, backoff: 0.1...0.5)
    klass.retries(1, backoff: 1/2r..3r)
    klass.stuck_after(3/2r)
    assert_equal [0.5..3, 1.5], klass.settings.to_h.values_at(:backoff, :stuck_after)
  end

  test "drain: nil waits for the running handler" do
    entered, go = Thread::Queue.new, Thread::Queue.new
    declare
    produce("a")
    runner = run_consumers(consumer { |_| entered << true and go.pop }, drain: nil)
    entered.pop
    runner.stop
    go << true
    stop_all
    assert_equal 1, watermarks.sum
  end
end
