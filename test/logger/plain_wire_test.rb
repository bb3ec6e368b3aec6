# frozen_string_literal: true

require "stringio"
require "timeout"
require_relative "logs"

# `wire: :plain`, whose usual lines take a fast path: all promises about records hold for lines too.
class LoggerPlainWireTest < Godwit::TestCase
  include Godwit::TestSupport::Logs

  LINE = /\A([DIWEFA]), \[(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)\.(\d{6}) #(\d+)\] +(\w+) -- /

  def plain(endpoint = record_pull.last_endpoint, **options)
    logger(endpoint, wire: :plain, **options)
  end

  def line = record_pull.recv(timeout: HANG).force_encoding(Encoding::UTF_8)

  def texts(count) = records(count).map(&:text)

  # The line that Ruby's formatter makes at the same time.
  def ruby_line(line, progname, message)
    match = line.match(LINE)
    refute_nil match, line
    time = Time.local(*match.captures[1, 6].map(&:to_i), match[8].to_i)
    Logger::Formatter.new.call(match[10], time, progname, message).delete_suffix("\n").delete("\0")
  end

  TEXTS = [
    "text", "", "two\nlines", "an end\n", "a return\r", "ü", "日本語", "100 %", "a\0b", "\0", " ",
    "x" * 70, "ascii".encode("US-ASCII"), "\u{1F600}" * 50, "\\", "%s %d"
  ].freeze
  OTHERS = ["\xFF", "\xFFa".b, "ä".encode("UTF-16LE"), "ä".encode("ISO-8859-1"), "a\xC3"].freeze

  # Twice, since the first line of a level and a name takes the slow path.
  test "each line equals the line of Ruby's formatter, for any level, name and text" do
    log = plain
    random = Random.new(7)
    progs = [nil, "billing", "ä b", "a\0b", :symbol, "x" * 2_000]
    made = Array.new(200) { Array.new(random.rand(40)) { random.rand(1..0x2FF) }.pack("U*") }
    [*TEXTS, *made].each_with_index do |text, index|
      log.progname = progs[index % 4]
      2.times do
        log.add(index % 6, text)
        came = line
        assert_equal ruby_line(came, log.progname, text.encode("UTF-8")), came
        assert_equal %w[DEBUG INFO WARN ERROR FATAL ANY][index % 6], came[LINE, 10]
      end
    end
    log.progname = :symbol
    2.times { log.warn("text") && assert_equal(ruby_line(came = line, :symbol, "text"), came) }
    log.progname = "one"
    2.times do
      log.add(Logger::INFO, "text", "another") &&
        assert_equal(ruby_line(came = line, "another", "text"), came)
    end
    2.times { log.info("text") && assert_equal(ruby_line(came = line, "one", "text"), came) }
  end

  test "texts in other encodings, and other objects, arrive as before" do
    log = plain
    log.info("so that the name is known")
    line
    utf8 = Godwit::Logger.const_get(:Text).method(:utf8)
    OTHERS.each { |text| log.info(text) && assert_equal(utf8.call(text), line[/ -- : (.*)\z/m, 1]) }
    [nil, 1, :sym, {a: 1}, RuntimeError.new("e")].each do |one|
      log.info(one) && assert_equal(ruby_line(came = line, nil, one), came)
    end
    log.info("x" * 70_000)
    assert_match(/x\.\.\.\(cut 4464 bytes\)\z/, line)
    log.info("text", user: 1)
    assert_match(/ -- : text\z/, line)
    log.info { "block" }
    assert_match(/ -- : block\z/, line)
    log << "raw"
    assert_equal "raw", line
  end

  def time_of(line)
    match = line.match(LINE)
    Time.local(*match.captures[1, 5].map(&:to_i), Rational("#{match[7]}.#{match[8]}"))
  end

  def assert_time(log)
    before = Time.now.floor(6)
    log.info("x")
    after = Time.now
    time = time_of(line)
    assert_includes before..after, time
    time
  end

  # Without summer time, in which an hour occurs twice.
  def within(zone)
    before = ENV["TZ"]
    ENV["TZ"] = zone
    yield
  ensure
    ENV["TZ"] = before
  end

  test "the time is that of the call, in every second" do
    within("UTC") do
      log = plain
      seconds = []
      seconds << assert_time(log).sec until seconds.uniq.size == 2
    end
  end

  test "the time is the program's zone's" do
    %w[Asia/Kathmandu America/Caracas UTC].each do |zone|
      within(zone) do
        log = plain
        3.times { assert_time(log) }
      end
    end
  end

  test "a setting that changes the form of a line has its effect at once, and ends at once" do
    log = plain(progname: "p")
    log.info("known")
    line
    check = ->(wanted) { log.info("x") && assert_match(/\A#{wanted}\z/, line) }
    usual = 'I, \[[^ ]+\.\d{6} #\d+\]  INFO -- p: x'
    check.call(usual)
    log.datetime_format = "%Y"
    check.call('I, \[\d{4} #\d+\]  INFO -- p: x')
    log.datetime_format = nil
    check.call(usual)
    ours = log.formatter
    log.formatter = ->(severity, _, progname, message) { "#{severity} #{progname} #{message}" }
    check.call("INFO p x")
    log.formatter = nil
    check.call(usual)
    log.formatter = ours
    log.tagged("a", "b") { check.call(usual.sub("x", '\[a\] \[b\] x')) }
    check.call(usual)
    log.formatter.push_tags("c")
    check.call(usual.sub("x", '\[c\] x'))
    log.formatter.clear_tags!
    log.progname = +"q"
    2.times { check.call(usual.sub("p:", "q:")) }
    log.progname << "r"
    2.times { check.call(usual.sub("p:", "qr:")) }
    log.progname = nil
    2.times { check.call(usual.sub("p:", ":")) }
    copy = log.tagged("d")
    copy.info("x")
    assert_match(/ -- : \[d\] x\z/, line)
    check.call(usual.sub("p:", ":"))
    other = log.clone
    other.progname = "other"
    3.times do
      other.info("x")
      assert_match(/ -- other: x\z/, line)
      check.call(usual.sub("p:", ":"))
    end
  end

  test "levels have their effect, and methods of a subclass are called" do
    log = plain(level: :warn)
    3.times { log.warn("known") }
    texts(3)
    log.info("no")
    log.level = :error
    log.warn("no")
    log.level = :info
    log.info("yes")
    log.add(nil, "unknown")
    assert_equal %w[yes unknown], texts(2)
    called = []
    kind = Class.new(Godwit::Logger) do
      define_method(:add) do |*arguments, **options, &block|
        called << arguments && super(*arguments, **options, &block)
      end
      define_method(:level) { (called.size > 2) ? Logger::FATAL : super() }
    end
    one = kind.new(record_pull.last_endpoint, wire: :plain)
    2.times { one.info("x") && assert_equal("x", record.text) }
    one.info("x") # below its level
    assert_equal [[Logger::INFO, nil, "x"]] * 3, called
    assert_nil record_pull.recv(timeout: 0, exception: false)
  ensure
    one&.close
  end

  test "a broadcast target added to one logger is called too; a copy still logs" do
    log = plain(progname: "p")
    2.times { log.info("known") }
    texts(2)
    seen = []
    log.dup.info("dup")
    log.clone.info("clone")
    log.extend(
      Module.new do
        define_method(:add) do |severity, message = nil, progname = nil, **options, &block|
          seen << progname && super(severity, message, progname, **options, &block)
        end
      end
    )
    log.info("extended")
    log.define_singleton_method(:info) { |text| super("<#{text}>") }
    log.info("own")
    assert_equal %w[dup clone extended <own>], texts(4)
    assert_equal %w[extended <own>], seen
  end

  test "every form of call has the effect that it has on Ruby's Logger" do
    log = plain(progname: "p", level: :info)
    log.info("known")
    line
    io = StringIO.new
    ruby = Logger.new(io, progname: "p", level: :info)
    calls = [
      ->(l) { l.info("a") }, ->(l) { l.info("a") { "b" } }, ->(l) { l.info { "b" } },
      ->(l) { l.info(nil) }, ->(l) { l.info }, ->(l) { l.debug("no") },
      ->(l) { l.debug { raise "no" } }, ->(l) { l.add(1) }, ->(l) { l.add(1, "a") },
      ->(l) { l.add(1, "a", "q") }, ->(l) { l.add(1, nil, "a") },
      ->(l) { l.add(1, nil, "a") { "b" } }, ->(l) { l.add(1, "a") { raise "no" } },
      ->(l) { l.add(1, nil, nil) }, ->(l) { l.add(1, nil, nil) { "b" } }, ->(l) { l.add(nil, "a") },
      ->(l) { l.add(9, "a") }, ->(l) { l.add(-1, "no") }, ->(l) { l.log(1, "a") },
      ->(l) { l.warn("a") }, ->(l) { l.error("a") }, ->(l) { l.fatal("a") },
      ->(l) { l.unknown("a") }, ->(l) { l.warn(1) }, ->(l) { l.error(:a) }, ->(l) { l.info({a: 1}) }
    ]
    twice = calls + calls
    twice.each_with_index do |call, index|
      io.truncate(0)
      io.rewind
      assert_equal call.call(ruby), call.call(log), "call #{index}"
      wanted = io.string.sub(/\[[^\]]+\]/, "").delete_suffix("\n")
      assert_equal wanted, line.sub(/\[[^\]]+\]/, ""), "call #{index}" unless wanted.empty?
    end
    assert_nil record_pull.recv(timeout: 0, exception: false)
    assert_raises(ArgumentError) { log.add }
    assert_raises(ArgumentError) { log.info(1, 2, 3) }
    ["a", nil].each { |text| assert_equal true, log.info(text, user: 1) }
    assert_equal true, log.info(user: 1)
    assert_equal ["a", {user: 1}.inspect, {user: 1}.inspect], texts(3)
  end

  test "a text that changes after the call is sent as it was" do
    log = plain
    text = +"text"
    4.times { |number| log.info(text.replace("text #{number}")) }
    text.clear
    assert_equal (0...4).map { |number| "text #{number}" }, texts(4)
  end

  # Lines of the slow path are between lines of the fast path.
  def mixed(log, number, name = "")
    case number % 4
    when 0 then log.tagged("t") { log.info("#{name}#{number}") }
    when 1 then log.warn("#{name}#{number}")
    else log.info("#{name}#{number}")
    end
  end

  test "each thread's lines come in order, on either path, and none is lost" do
    log = plain(overflow: :block)
    count = rounds((RUBY_ENGINE == "jruby") ? 500 : 2_000, stressed: 50)
    threads =
      Array.new(4) do |thread|
        in_thread { count.times { |number| mixed(log, number, "#{thread} ") } }
      end
    received = texts(4 * count).map { |text| text.delete_prefix("[t] ").split }
    threads.each(&:value)
    assert_equal [[*0...count]] * 4,
      received.group_by(&:first).sort.map { |_, ones| ones.map { |one| one[1].to_i } }
    assert log.flush(timeout: HANG) # the sender may not have counted the received records yet
    assert_equal [0, 4 * count, 0], log.stats.to_h.values_at(:queued, :sent, :dropped)
  end

  # The threads yield, so that the 10 ms do not become four threads' time slices, with more records
  # than a busy machine can receive in time.
  test "threads that are killed and timed out while they log: lines arrive whole, in order, and " \
    "none hangs" do
    log = plain
    received = []
    over = false
    receiver = in_thread do
      until over
        message = record_pull.recv(timeout: 0.05, exception: false)
        received << Godwit::Logger::Record.parse(message).text if message
      end
    end
    10.times do |round|
      victims =
        Array.new(3) do |thread|
          in_thread do
            (0..).each { |number| log.info("#{round}/#{thread} #{number}") && Thread.pass }
          end
        end
      begin
        ::Timeout.timeout(0.01) { loop { log.info("t") && Thread.pass } }
      rescue ::Timeout::Error
        nil
      end
      victims.each(&:kill).each { |one| assert one.join(5) }
    end
    assert log.flush(timeout: 20) # so that there is room
    log.info("last")
    assert log.flush(timeout: 20)
    eventually { received.size == log.stats.sent }
    over = true
    receiver.join
    assert_equal "last", received.reject { |text| text.start_with?("dropped") }.last
    received.grep(/\//).group_by { |text| text[/\S+/] }.each_value do |ones|
      numbers = ones.map { |text| text[/\d+\z/].to_i }
      assert_equal numbers.uniq.sort, numbers
    end
  end

  test "the thread that sends is killed: no line is lost" do
    not_on :jruby, "a kill there may lose the entry that Queue#pop has just taken"
    log = plain
    300.times do |number|
      mixed(log, number)
      Thread.list.select { |thread| thread.name == "godwit logger" }.each(&:kill)
    end
    assert_equal (0...300).map(&:to_s), texts(300).map { |text| text.delete_prefix("[t] ") }
    assert log.flush(timeout: 5)
  end

  # Has the sender hold the first line.
  def stall(log)
    log.info("held")
    room = log.instance_variable_get(:@handle).current.queue
    eventually { log.stats.queued == 1 && room.empty? }
  end

  def receive(endpoint, count)
    pull = open_socket(:PULL).bind(endpoint)
    Array.new(count) { Godwit::Logger::Record.parse(pull.recv(timeout: 5)).text }
  end

  test "drop_new keeps the oldest and reports the loss; drop_old keeps the newest" do
    {drop_new: 0..9, drop_old: 20..29}.each do |policy, kept|
      endpoint = "#{nowhere}-#{policy}"
      log = plain(endpoint, queue: 10, overflow: policy, progname: "p")
      stall(log)
      30.times { |number| log.info(number.to_s) }
      assert_equal [11, 0, 20, nil], log.stats.to_h.values_at(:queued, :sent, :dropped, :last_error)
      received = receive(endpoint, 12)
      assert_equal ["held", *kept.map(&:to_s)], received.grep_v(/dropped/)
      assert_match(/\Adropped 20 in \d+\.\d s\z/, received.grep(/dropped/).first)
      assert log.flush(timeout: 5)
      assert_equal [0, 12], log.stats.to_h.values_at(:queued, :sent)
    end
  end

  test "block: the caller waits for room, in order; close counts the lines that could not go" do
    endpoint = nowhere
    log = plain(endpoint, queue: 5, overflow: :block)
    stall(log)
    5.times { |number| log.info(number.to_s) }
    caller = in_thread { log.info("5") }
    until_full(log)
    assert_equal ["held", *"0".."5"], receive(endpoint, 7)
    assert_equal true, caller.value
    assert_equal 0, log.stats.dropped
    lost = plain("#{nowhere}-for-good", linger: 0)
    stall(lost)
    20.times { lost.info("x") }
    _, said = capture_io { lost.close }
    assert_match(/: 21 records not sent; connection refused at .*\n\z/, said)
    _, said = capture_io { 2.times { lost.info("late") } }
    assert_equal [23, ""], [lost.stats.dropped, said] # it has spoken within ten seconds
  end

  test "spool: lines go to the disk and from there, in order, to the reader" do
    endpoint = endpoint_for(:ipc_file)
    log =
      plain(
        endpoint, overflow: :spool, spool: File.join(scratch_dir, "spool"), reconnect_interval: 0.01
      )
    log.info("0")
    eventually { log.stats.spooled == 1 }
    199.times { |number| mixed(log, number + 1) }
    eventually { log.stats.spooled == 200 }
    assert_equal (0...200).map(&:to_s),
      receive(endpoint, 200).map { |text| text.delete_prefix("[t] ") }
    assert_equal 0, log.stats.dropped
  end

  test "forked children have their own pid, queue and connection" do
    not_on :jruby, "JRuby cannot fork"
    assert_logs(<<~RUBY)
      log = Godwit::Logger.new(ENDPOINT, wire: :plain)
      300.times { |number| log.info(number.to_s) }
      2.times do |child|
        Process.wait(fork { 300.times { |number| log.info("\#{child} \#{number}") } })
      end
      300.times { |number| log.info((300 + number).to_s) }
    RUBY
    received = records(1200).group_by(&:pid).values.map { |ones| ones.map(&:text) }
    assert_equal [
      (0...600).map(&:to_s),
      *Array.new(2) { |child| (0...300).map { |number| "#{child} #{number}" } }
    ].sort,
      received.sort
  end

  test "handlers of signals log, and none waits for a lock" do
    assert_logs(<<~RUBY)
      log = Godwit::Logger.new(ENDPOINT, wire: :plain)
      runs = 0
      Signal.trap(:USR1) { log.info("run \#{runs}") && runs += 1 }
      300.times do |number|
        Process.kill(:USR1, Process.pid)
        10.times { log.info("between") }
        Thread.pass until runs > number # kill(2) coalesces
      end
      log.close
      abort log.stats.to_s if log.stats.dropped > 0
    RUBY
    received = []
    received << record.text until received.last == "run 299"
    assert_equal (0...300).map { |number| "run #{number}" }, received.grep(/run/)
  end
end
