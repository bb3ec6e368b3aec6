# frozen_string_literal: true

require "test_helper"
require "godwit/logger"

# The queue between a logger's callers and its sender, which makes usual lines itself.
class LogQueueTest < Godwit::TestCase
  QUEUE = Godwit::Backend::IMPLEMENTATION::LogQueue
  FORMATTER = Godwit::Logger::Formatter
  INFO = Logger::INFO
  ENTRY = ["stream", 0, 0, 0, "text", nil, nil, nil].freeze

  def queue(records: 1000, bytes: 1 << 20, prog: "billing")
    one = QUEUE.new.open(records, bytes, 256, FORMATTER)
    one.served = true
    one.learn(INFO, prog, +"I, [", +" #1]  INFO -- billing: ")
    one
  end

  def all(one) = one.size.zero? ? [] : one.take(1 << 20)

  test "entries come out in the order in which they went in, whatever they are, and as many as are asked for" do
    one = queue
    wanted = Array.new(700) do |number|
      next one.line(INFO, "billing", number.to_s, nil) && number.to_s if number % 3 > 0
      one.push([number, 0, 0, 0, "", nil, nil, nil], 0) && number
    end
    taken = [one.take(100), one.take(300), one.take(1000)]
    assert_equal [100, 300, 300], taken.map(&:size)
    assert_equal wanted, taken.flatten(1).map { |entry| entry.is_a?(String) ? entry[/\d+\z/] : entry[0] }
  end

  test "it tells whether it gave lines only" do
    one = queue
    3.times { assert one.line(INFO, "billing", "x", nil) }
    one.push(ENTRY, 4)
    one.take(3)
    assert_predicate one, :only_lines?
    one.line(INFO, "billing", "x", nil)
    one.take(3)
    refute_predicate one, :only_lines?
  end

  test "a line is made of what was learnt, the time, and the text" do
    one = queue
    before = Time.now.floor(6)
    assert_equal true, one.line(INFO, "billing", "two\nlines", FORMATTER.new)
    line = all(one).first
    after = Time.now
    match = line.match(/\AI, \[(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d\.\d{6}) #1\]  INFO -- billing: two\nlines\z/)
    refute_nil match, line
    assert_includes before..after, Time.local(*match.captures[0, 5].map(&:to_i), Rational(match[6]))
    assert_equal [Encoding::UTF_8, false], [line.encoding, line.frozen?]
  end

  test "what is not usual is left to Ruby, and leaves nothing in the queue" do
    one = queue
    tagged, timed, of_its_own = Array.new(3) { FORMATTER.new }
    timed.datetime_format = "%Y"
    of_its_own.extend(Module.new)
    unusual = [
      [INFO, "billing", "\xFF", nil], [INFO, "billing", "\xFF".b, nil], [INFO, "billing", (+"\xFF").force_encoding("US-ASCII"), nil], [INFO, "billing", "a".encode("UTF-16LE"), nil], [INFO, "billing", "a\0b", nil],
      [INFO, "billing", "x" * 65_537, nil], [INFO, "billing", Class.new(String).new("x"), nil], [INFO, "billing", :x, nil], [INFO, "billing", nil, nil],
      [INFO, "other", "x", nil], [INFO, nil, "x", nil], [INFO, :billing, "x", nil], [INFO, Class.new(String).new("billing"), "x", nil], [INFO, "billing".encode("UTF-16LE"), "x", nil],
      [Logger::WARN, "billing", "x", nil], [6, "billing", "x", nil], [-1, "billing", "x", nil], [1.0, "billing", "x", nil], [1 << 70, "billing", "x", nil],
      [INFO, "billing", "x", ->(*) {}], [INFO, "billing", "x", Logger::Formatter.new], [INFO, "billing", "x", Class.new(FORMATTER).new], [INFO, "billing", "x", timed],
      [INFO, "billing", "x", of_its_own], [INFO, "billing", "x", 1]
    ]
    unusual.each { |arguments| assert_equal false, one.line(*arguments), arguments.inspect }
    tagged.tagged("t") { assert_equal false, one.line(INFO, "billing", "x", tagged) }
    assert_equal true, one.line(INFO, "billing", "x", tagged)
    assert_equal true, one.line(INFO, "billing", "x" * 65_536, tagged)
    tagged.tagged("t") { assert_equal false, one.line(INFO, "billing", "x", tagged.clone) }
    assert_equal true, one.line(INFO, "billing", "x".encode("US-ASCII"), tagged)
    assert_equal 3, one.size
  end

  test "a logger's usual lines go this way, and only they" do
    pull = open_socket(:PULL).bind("tcp://127.0.0.1:*")
    log = own(Godwit::Logger.new(pull.last_endpoint, wire: :plain, progname: "billing"))
    encoder = log.instance_variable_get(:@handle).writer.encoder
    encoded = []
    encoder.define_singleton_method(:encode) { |entry| super(entry).tap { encoded << entry[4] } }
    log.info("first")
    pull.recv(timeout: 5)
    100.times { |number| log.info(number.to_s) }
    assert_equal (0...100).map(&:to_s), Array.new(100) { pull.recv(timeout: 5) }.map { |line| line[/\d+\z/] }
    log.tagged("t") { log.info("tagged") }
    assert_match(/\[t\] tagged\z/, pull.recv(timeout: 5))
    assert_equal ["first", "tagged"], encoded.map { |text| text[/\w+\z/] }
  end

  test "tags are the fiber's" do
    one = queue
    formatter = FORMATTER.new
    formatter.push_tags("t")
    assert_equal false, one.line(INFO, "billing", "x", formatter)
    assert_equal true, Fiber.new { one.line(INFO, "billing", "x", formatter) }.resume
    formatter.clear_tags!
    assert_equal true, one.line(INFO, "billing", "x", formatter)
  end

  test "a name that changes in its place is another; nil is one; one with a NUL is never learnt" do
    one = queue
    prog = +"billing"
    assert one.line(INFO, prog, "x", nil)
    ["billinG", "billing2", "billin", ""].each { |other| refute one.line(INFO, prog.replace(other), "x", nil) }
    one.learn(INFO, nil, "I, [", " #1]  INFO -- : ")
    assert one.line(INFO, nil, "x", nil)
    one.learn(INFO, "a\0", "I, [", " #1]  INFO -- a\0: ")
    refute one.line(INFO, "a\0", "x", nil)
  end

  test "no line while nobody sends, and none once it is closed" do
    one = queue
    one.served = false
    refute one.line(INFO, "billing", "x", nil)
    one.served = true
    assert one.line(INFO, "billing", "x", nil)
    one.close
    refute one.line(INFO, "billing", "x", nil)
    assert_equal false, one.push(ENTRY, 4)
    assert_predicate one, :closed?
    assert_equal 1, one.take(5).size
    assert_nil one.take(5)
    assert_nil one.close
  end

  test "a sender that was killed and has no follower, since there was no thread to be had: the next line sees to one" do
    pull = open_socket(:PULL).bind("tcp://127.0.0.1:*")
    log = own(Godwit::Logger.new(pull.last_endpoint, wire: :plain))
    2.times { log.info("before") && pull.recv(timeout: 5) }
    writer = log.instance_variable_get(:@handle).writer
    refused = 0
    writer.define_singleton_method(:spawn) { ((refused += 1) == 1) ? raise(ThreadError, "can't create Thread") : super() }
    assert_raises(ThreadError) { writer.instance_variable_get(:@thread).kill.join }
    log.info("after")
    assert_match(/after\z/, pull.recv(timeout: 5))
    assert_equal 2, refused
  end

  test "who prepends to Logger, or defines its methods anew, is called" do
    result = assert_child(run_child(<<~RUBY, deadline: 25))
      require "godwit"
      log = Godwit::Logger.new("inproc://nobody", wire: :plain, linger: 0)
      log.info("x")
      patches = [-> { Godwit::Logger.prepend(Module.new { def add(*) = super.tap { puts "add" } }) }, -> { class Godwit::Logger; def info(*) = puts("info"); end }]
      patches.each do |patch|
        Process.wait(fork do
          log.clone.info("x")
          patch.call
          2.times { log.info("x") }
          $stdout.flush
          exit!(0)
        end)
      end
    RUBY
    assert_equal "add\nadd\ninfo\ninfo\n", result.stdout
  end

  test "a call makes one object; a subclass may do what it likes, the others' calls stay so" do
    kind = Class.new(Godwit::Logger) { define_method(:info) { |text| super("<#{text}>") } }
    kind.prepend(Module.new { define_method(:add) { |*arguments| super(*arguments) } })
    log = own(Godwit::Logger.new("ipc://#{scratch_dir}/nobody", wire: :plain, linger: 0))
    _, said = capture_io do
      log.info("first")
      room = log.instance_variable_get(:@handle).writer.instance_variable_get(:@room)
      eventually { room.empty? && log.stats.queued == 1 } # the sender waits for a reader
      before = GC.stat(:total_allocated_objects)
      1000.times { log.info("x") }
      assert_includes 1000..1900, GC.stat(:total_allocated_objects) - before
      log.close
    end
    assert_match(/: 1001 records not sent/, said)
  end

  test "a forked child's lines are not its parent's" do
    result = assert_child(run_child(<<~RUBY, deadline: 25))
      require "godwit"
      require "godwit/logger"
      one = Godwit::Backend::IMPLEMENTATION::LogQueue.new.open(10, 1000, 256, Godwit::Logger::Formatter)
      one.served = true
      one.learn(1, nil, "I, [", " #1] ")
      p one.line(1, nil, "x", nil)
      $stdout.flush
      Process.wait(fork { p one.line(1, nil, "x", nil) })
    RUBY
    assert_equal "true\nfalse\n", result.stdout
  end

  test "the bounds hold: in records, and in bytes" do
    one = queue(records: 8)
    8.times { |number| assert one.line(INFO, "billing", "x", nil), number.to_s }
    refute one.line(INFO, "billing", "x", nil)
    assert_predicate one, :full?
    one.shift
    refute_predicate one, :full?
    refute_predicate one.tap(&:shift).tap { |same| same.push(ENTRY, 4) }, :full?
    assert_predicate one, :roomy?
    one = queue(bytes: 20_000)
    one.push(ENTRY, 19_000)
    refute_predicate one, :full?
    refute_predicate one, :roomy?
    assert one.line(INFO, "billing", "x" * 600, nil)
    assert_predicate one, :full?
    refute one.line(INFO, "billing", "x", nil)
    assert_equal [1, 1], [all(one).size, one.size] # a quarter of the bytes at once, or one entry
    all(one)
    assert_predicate one, :roomy?
    refute_predicate one, :full?
    assert_nil one.shift
  end

  test "who waits is woken by a line, an entry and the end, and every entry comes out once" do
    one = queue(records: 100_000)
    count = rounds(3_000, stressed: 100)
    taker = in_thread do
      taken = []
      while (batch = one.take(7))
        taken.concat(batch)
      end
      taken
    end
    count.times do |number|
      (number % 5 == 0) ? one.push([number, 0, 0, 0, "", nil, nil, nil], 0) : one.line(INFO, "billing", number.to_s, nil)
      until_waiting(one) if (number % 100).zero?
    end
    until_waiting(one)
    one.close
    assert_equal [*0...count], taker.value.map { |entry| entry.is_a?(String) ? entry[/\d+\z/].to_i : entry[0] }
  end

  test "an interrupt where it waits takes nothing, and the next one hears of what came" do
    one = queue
    3.times do |number|
      sleeper = in_thread { one.take(1) }
      until_waiting(one)
      sleeper.kill
      assert sleeper.join(5)
      assert one.line(INFO, "billing", "x#{number}", nil)
      assert_match(/x#{number}\z/, one.take(1).first)
      sleeper = in_thread { one.take(1) }
      until_waiting(one)
      one.push(ENTRY, 4)
      assert_equal [ENTRY], sleeper.value
    end
  end

  test "entries and names outlive the collector, wherever it moves them" do
    one = queue(records: 10_000, bytes: 1 << 24, prog: +"billing")
    4.times { GC.start } # it is old, and what comes into it is young
    count = rounds(2_000, stressed: 50)
    count.times do |number|
      number.even? ? one.push([Object.new, 0, 0, 0, "n#{number}", nil, nil, nil], 4) : assert(one.line(INFO, "billing", "n#{number}", nil))
      one.shift if number < 100
    end
    GC.start(full_mark: false)
    GC.start
    GC.compact if GC.respond_to?(:compact)
    GC.start
    Array.new(1000) { |number| "filler #{number}" * 10 }
    assert one.line(INFO, "billing", "n#{count}", nil)
    first = [count, 100].min
    assert_equal (first..count).map { |number| "n#{number}" }, all(one).map { |entry| entry.is_a?(String) ? entry[/n\d+\z/] : entry[4] }
  end

  test "wrong arguments raise; what was not opened says so; memory is told" do
    one = QUEUE.allocate
    %i[size shift close].each { |name| assert_raises(Godwit::Error, name) { one.public_send(name) } }
    [["x", 1, 1], [1, nil, 1], [1, 1, nil]].each { |arguments| assert_raises(RangeError, TypeError) { one.open(*arguments, FORMATTER) } }
    one.open(10, 1000, 256, FORMATTER)
    assert_raises(Godwit::StateError) { one.open(10, 1000, 256, FORMATTER) }
    assert_raises(TypeError) { one.push(ENTRY, nil) }
    assert_raises(TypeError) { one.learn(1, 5, "x", "x") }
    assert_raises(TypeError) { one.learn(1, nil, 5, "x") }
    assert_raises(TypeError) { one.learn(1, nil, "x", 5) }
    require "objspace"
    full = queue(records: 10_000, bytes: 1 << 24)
    10_000.times { full.push(ENTRY, 4) }
    assert_operator ObjectSpace.memsize_of(full), :>, 160_000
  end
end
