# frozen_string_literal: true

require "test_helper"
require "pathname"
require "timeout"
require_relative "constants"
require_relative "records"

# `durable: folder` and Logger::Receiver, without crashes: crash_points_test and kill_test cover
# crashes.
class LoggerDurableTest < Godwit::TestCase
  include Godwit::TestSupport::Constants
  include LoggerTests::Records

  Receiver = Godwit::Logger::Receiver
  Sink = Godwit::Logger::Sink
  Wire = Godwit::Logger.const_get(:Wire)
  Packing = Godwit::Logger.const_get(:Packing)
  SegmentedLog = Godwit::Logger.const_get(:SegmentedLog)
  DurableSender = Godwit::Logger.const_get(:DurableSender)
  SendWindow = Godwit::Logger.const_get(:SendWindow)

  def file = File.join(scratch_dir, "app.log")

  def folder = File.join(scratch_dir, "durable")

  def lines = File.exist?(file) ? File.readlines(file, chomp: true) : []

  def texts = lines.map { |line| line[/: (.*)\z/, 1] || line }

  # Of each line of a file in JSON.
  def values(key) = lines.map { |line| JSON.parse(line).fetch(key) }

  def open_receiver(endpoint = endpoint_for(:tcp), sink: {}, **options)
    @receiver =
      keep(Receiver.new(endpoint, keep(Sink.new(file, **sink)), context: context, **options))
  end

  def close_receiver
    @receiver.close
    @receiver.sink.close
  end

  def open_log(endpoint = @receiver.last_endpoint, **options)
    keep(
      Godwit::Logger.new(
        endpoint, durable: folder, progname: "billing", linger: 0, reconnect_interval: 0.01,
        **options
      )
    )
  end

  # An endpoint without a listener.
  def nowhere = @nowhere ||= endpoint_for(:ipc_file)

  # The loggers first: their messages about unsent records do not matter here.
  def teardown
    (@to_close || []).reverse_each { |one| capture_io { one.close } }
    super
  end

  def keep(closable)
    (@to_close ||= []) << closable
    closable
  end

  def assert_flushed(log)
    assert log.flush(timeout: 10), log.stats.inspect
  end

  test "records come into the file in order, and are counted once they are acknowledged" do
    open_receiver
    log = open_log
    2_000.times { |index| log.info("record #{index}", index: index) }
    assert_flushed(log)
    assert_equal (0...2_000).map { |index| "record #{index}" }, texts
    assert_equal [0, 2_000, 0, nil], log.stats.to_h.values_at(:queued, :sent, :dropped, :last_error)
    assert_equal [2_000, 0, 0, nil],
      @receiver.stats.to_h.values_at(:written, :again, :foreign, :last_error)
    assert_match(/\AI, \[.*\]  INFO -- billing: record 0\z/, lines.first)
  end

  test "whatever the program's name, a record stays unchanged" do
    open_receiver
    log = open_log
    log.info("p" * 70_000) { "first" }
    log.info("second")
    assert_flushed(log)
    assert_equal %w[first second], texts
  end

  test "without a receiver records wait on the disk; the next process sends them, under the same " \
    "id, and continues its numbers" do
    log = open_log(nowhere)
    3.times { |index| log.info("first #{index}") }
    log.error("first error")
    assert_equal 4, log.stats.queued
    _, said = capture_io { log.close }
    assert_match(/4 records are kept in .*durable for the next start/, said)
    open_receiver(nowhere, sink: {format: :json})
    again = open_log(nowhere)
    again.info("second")
    again.error("second error")
    assert_flushed(again)
    assert_equal ["first 0", "first 1", "first 2", "first error", "second", "second error"],
      values("text")
    assert_equal [File.read(File.join(folder, "id"))], values("writer").uniq
    assert_equal [1, 2, 3, 4, 5, 6], values("seq")
    assert_equal [1, 2, 3, 1, 4, 2], values("tseq")
  end

  test "records after the close are refused, and counted" do
    log = open_log(nowhere)
    assert_equal true, log.info("in time")
    _, warnings = capture_io { log.close }
    assert_match(/1 record is kept/, warnings)
    capture_io { assert_equal [false, false], [log.info("late"), log.error("too")] }
    assert_equal [1, 2], [log.stats.queued, log.stats.dropped]
  end

  test "counts of topics continue even when all records of them are gone" do
    SegmentedLog.stub(:new,
      ->(*arguments, **options, &block) {
        SegmentedLog.allocate.tap { |one|
          one.__send__(:initialize,
            *arguments, segment_bytes: 2_000, **options, &block)
        }
      }) do
      open_receiver(sink: {format: :json})
      (1..3).each do |life|
        log = open_log
        log.error("only once") if life == 1
        30.times { log.info("x") }
        log.error("last") if life == 3
        assert_flushed(log)
        log.close
      end
      info, error = values("level").zip(values("tseq")).partition { |level, _| level == 1 }
      assert_equal (1..90).to_a, info.map(&:last)
      assert_equal [1, 2], error.map(&:last)
      assert_operator Dir["#{folder}/*.seg"].size, :<, 5
    end
  end

  test "a folder has one logger; a second logger's error names the first" do
    open_log(nowhere)
    error = assert_raises(Godwit::BusyError) { open_log(nowhere) }
    assert_match(
      /#{Regexp.escape(folder)}.*process #{Process.pid} uses it.*folder of its own/, error.message
    )
    program =
      'require "godwit"; begin; Godwit::Logger.new(*ARGV.first(1), durable: ARGV[1]); rescue ' \
      "Godwit::BusyError => error; puts error.message; end"
    assert_match(
      /process #{Process.pid} uses it/, assert_child(run_child(program, [nowhere, folder])).stdout
    )
  end

  test "a folder is free once its logger is closed, also while a process that is just starting " \
    "has copies of all descriptors" do
    not_on :jruby, "its processes start without copies"
    log = open_log(nowhere)
    lock =
      log
        .instance_variable_get(:@handle)
        .current
        .instance_variable_get(:@disk)
        .instance_variable_get(:@lock)
    own(lock.instance_variable_get(:@file).dup)
    log.close
    assert_equal 0, open_log(nowhere).stats.queued
  end

  test "durable: and spool: take a Pathname, and a String that the program changes later" do
    text = +folder
    log = keep(Godwit::Logger.new(nowhere, durable: text, linger: 0))
    text.replace("elsewhere")
    assert_equal true, log.info("x")
    capture_io { log.close }
    log = keep(Godwit::Logger.new(nowhere, durable: Pathname(folder), linger: 0))
    assert_equal 1, log.stats.queued
    device = Godwit::LogDevice.new(nowhere, durable: Pathname("#{folder}2"), linger: 0)
    keep(device).write("x")
    assert_path_exists "#{folder}2/id"
    log = keep(
      Godwit::Logger.new(nowhere, overflow: :spool, spool: Pathname("#{folder}3"), linger: 0)
    )
    log.info("x")
    eventually { log.stats.spooled == 1 }
    state = Pathname("#{folder}.state")
    keep(Godwit::Logger::Reader.new(endpoint_for(:tcp), state: state)).close
    assert_path_exists "#{folder}.state"
    [[:durable, ""], [:durable, Object.new], [:spool, "a\0b"]].each do |name, odd|
      options = {name => odd, **((name == :spool) ? {overflow: :spool} : {})}
      error = assert_raises(ArgumentError, TypeError) { Godwit::Logger.new(nowhere, **options) }
      assert_includes error.message, "#{name}: takes the path of a folder"
    end
  end

  test "options that contradict durable: are refused at once" do
    {overflow: :drop_old, wire: :plain, bind: true, durable: 5,
     durable_bytes: 0}.each do |name, value|
      error =
        assert_raises(ArgumentError, TypeError) { open_log("tcp://127.0.0.1:9", name => value) }
      assert_includes error.message, "#{name}:"
    end
    File.write(File.join(scratch_dir, "file"), "")
    assert_raises(Errno::EEXIST, Errno::ENOTDIR) do
      Godwit::Logger.new(nowhere, durable: File.join(scratch_dir, "file"))
    end
  end

  test "a peer that is no receiver is reported at once" do
    # Another process could take a port before the receiver binds it.
    pull = open_socket(:PULL).bind(nowhere)
    log = nil
    _, said = capture_io do
      log = open_log(pull.last_endpoint)
      log.info("x")
      eventually { $stderr.string.end_with?("\n") } # the error is there by then
    end
    assert_match(
      /\Agodwit:\ log\ to\ ipc:.*is\ no\ receiver\ of\ durable\ logs:
        \ give\ the\ endpoint\ of\ `godwit\ log\ serve\ --durable-in`\n\z/x,
      said
    )
    assert_match(/no receiver of durable logs/, log.stats.last_error.message)
    assert_equal 1, log.stats.queued
    pull.close
    open_receiver(nowhere)
    assert_flushed(log)
  end

  test "a peer that never answers is reported too" do
    router = open_socket(:ROUTER).bind(endpoint_for(:tcp))
    with_constants(DurableSender, ANSWER_TIMEOUT: 0.2) do
      _, said = capture_io do
        log = open_log(router.last_endpoint)
        log.info("x")
        eventually { $stderr.string.end_with?("\n") }
      end
      assert_match(/is no receiver of durable logs.*does not answer/, said)
    end
  end

  test "a full disk allowance: records are dropped and counted, and one record reports it" do
    log = open_log(nowhere, durable_bytes: 20_000)
    300.times { |index| log.info("record #{index}") }
    dropped = log.stats.dropped
    assert_includes 150..290, dropped
    assert_operator Dir["#{folder}/*.seg"].sum { |name| File.size(name) }, :<, 21_000
    open_receiver(nowhere)
    assert_flushed(log)
    log.info("later")
    assert_flushed(log)
    kept = 300 - dropped
    assert_equal kept.times.map { |index| "record #{index}" }, texts.first(kept)
    assert_match(/\Adropped \d+ in \d+\.\d s\z/, texts[-2])
    assert_equal "later", texts.last
  end

  # Waits until so many callers wait for room on the disk.
  def until_full(log, callers = 1)
    writer = log.instance_variable_get(:@handle).current
    eventually { writer.instance_variable_get(:@waiting) >= callers }
  end

  test "overflow: :block waits for room, and its wait ends on kill, raise, Timeout and close" do
    log = open_log(nowhere, durable_bytes: 5_000, overflow: :block)
    fill = in_thread { loop { log.info("x" * 100) } }
    until_full(log)
    stop = Class.new(StandardError)
    killed, raised = Array.new(2) { in_thread { log.info("late") } }
    until_full(log, 3)
    ended(killed.kill)
    raised.raise(stop)
    assert_raises(stop) { ended(raised) }
    assert_raises(Timeout::Error) { Timeout.timeout(0.01) { log.info("late") } }
    assert_raises(stop) { Timeout.timeout(0.01, stop) { log.flush } }
    assert fill.alive?
    before = log.stats
    open_receiver(nowhere)
    assert(eventually { log.stats.sent > before.queued })
    assert_equal 0, log.stats.dropped
    fill.kill.join
  end

  # The test acknowledges, in the place of the log's own sender: that may want the writer's lock for
  # an earlier answer, and cannot get it before flush waits.
  test "flush sees an acknowledgement between its check and its wait" do
    log = open_log(nowhere)
    log.info("x")
    writer = log.instance_variable_get(:@handle).current
    sender, lock, store = %i[@sender @lock @disk].map { |name| writer.instance_variable_get(name) }
    window = SendWindow.new(store)
    window.sent(0)
    window.establish(0)
    acknowledging = nil
    looked = Thread::Queue.new # has an element once the sender has looked for a waiting flush
    test = self
    writer.define_singleton_method(:wait) do |finish|
      unless acknowledging
        lock.define_singleton_method(:synchronize) { |&block| (looked << true) && super(&block) }
        acknowledging = test.in_thread do
          sender.__send__(:answer, window, Wire::ACK, Wire.number(1))
          looked << false
        end
        looked.pop
        test.assert_equal 0, stats.queued
      end
      super(finish)
    end
    assert ended(in_thread { log.flush }) # a timeout would end its wait too
  end

  test "overflow: :block waits no longer than block_timeout, and not after close" do
    log = open_log(nowhere, durable_bytes: 2_000, overflow: :block, block_timeout: 0.01)
    30.times { log.info("x" * 100) }
    assert_operator log.stats.dropped, :>, 10
    @to_close.delete(log)
    capture_io { log.close }
    log = open_log(nowhere, durable_bytes: 2_000, overflow: :block)
    thread = in_thread { log.info("x" * 100) }
    until_full(log)
    capture_io { log.close }
    ended(thread)
  end

  test "many threads: each has its order, and nothing is lost when some are killed" do
    open_receiver
    log = open_log
    threads = Array.new(4) { |one| in_thread { 300.times { |index| log.info("#{one} #{index}") } } }
    killed =
      Array.new(3) { |one| in_thread { 3_000.times { |index| log.info("killed#{one} #{index}") } } }
    threads.each(&:join)
    killed.each { |thread| thread.kill.join }
    assert_flushed(log)
    texts.group_by { |text| text[/\S+/] }.each do |one, some|
      numbers = some.map { |text| text[/\d+\z/].to_i }
      assert_equal (0...numbers.size).to_a, numbers, one
      assert_equal 300, numbers.size unless one.start_with?("killed")
    end
  end

  test "the last record of a thread that is killed when it is stored is sent too" do
    open_receiver
    log = open_log
    log.info("first")
    assert_flushed(log)
    lock = log.instance_variable_get(:@handle).current.instance_variable_get(:@lock)
    storing = Thread::Queue.new
    lock.define_singleton_method(:synchronize) { |&block| (storing << true) && super(&block) }
    thread = nil
    lock.lock
    begin
      thread = in_thread { log.info("last") }
      storing.pop
      thread.kill
    ensure
      lock.unlock
    end
    thread.join
    assert_flushed(log)
    assert_equal %w[first last], texts
  end

  test "a folder that is deleted while it is in use is made again; its records are reported and " \
    "counted" do
    log = open_log(nowhere)
    3.times { |index| log.info("before #{index}") }
    FileUtils.rm_r(folder)
    open_receiver(nowhere)
    _, said = capture_io do
      eventually { !log.instance_variable_get(:@handle).current.alive? } # it has come to read
      log.info("after")
      assert_flushed(log)
    end
    assert_match(/^godwit: log to .*3 records were in #{folder}, which is gone$/, said)
    assert_match(/\Adropped 3 in \d+\.\d s\z/, texts.first)
    assert_equal ["after"], texts.drop(1)
    assert_equal [0, 1, 3], log.stats.to_h.values_at(:queued, :sent, :dropped)
    FileUtils.rm_r(folder)
    4.times { log.info("lost") }
    capture_io { @receiver.close }
    log.info("lost too")
    _, said = capture_io { log.close }
    refute_match(/kept in/, said)
  end

  # Speaks the wire by hand.
  def hello(dealer, key, seq)
    dealer << [Wire::HELLO, key, Wire.number(seq), Wire.number(Wire::VERSION)]
    answer(dealer)
  end

  def data(dealer, key, before, *seqs)
    entries =
      seqs.map do |seq|
        SegmentedLog.entry(
          seq, Packing.pack(*record("record #{seq}", seq: seq, writer: key.unpack1("H*")).frames)
        )
      end
    dealer << [Wire::DATA, key, Wire.number(before), entries.join]
    answer(dealer)
  end

  def answer(dealer)
    verb, key, value = dealer.recv(timeout: 5)
    [verb, key, Wire.value(value)]
  end

  test "the wire: a repeated record is written once, a missing one is requested" do
    open_receiver
    dealer = open_socket(:DEALER).connect(@receiver.last_endpoint)
    key = "k" * 16
    assert_equal [Wire::WHAT, key, 0], data(dealer, key, 0, 1), "unknown"
    assert_equal [Wire::WELCOME, key, 0], hello(dealer, key, 0)
    assert_equal [Wire::ACK, key, 3], data(dealer, key, 0, 1, 2, 3)
    assert_equal [Wire::ACK, key, 4], data(dealer, key, 1, 2, 3, 4)
    assert_equal [Wire::WHAT, key, 4], data(dealer, key, 7, 8), "5 to 7 are missing"
    assert_equal [Wire::ACK, key, 9],
      data(dealer, key, 4, 6, 9),
      "a gap of the writer's own: it dropped them"
    assert_equal [Wire::ACK, key, 9], data(dealer, key, 4, 6, 9)
    assert_equal [Wire::WELCOME, key, 9], hello(dealer, key, 2)
    assert_equal [Wire::WELCOME, key, 20], hello(dealer, key, 20), "another receiver had them"
    assert_equal ["other".ljust(16), 5], hello(dealer, "other".ljust(16), 5).drop(1)
    assert_equal [1, 2, 3, 4, 6, 9].map { |seq| "record #{seq}" }, texts
    assert_equal 4, @receiver.stats.again
  end

  test "the wire: foreign messages are counted, and harm nothing" do
    open_receiver
    dealer = open_socket(:DEALER).connect(@receiver.last_endpoint)
    key = "k" * 16
    random = Random.new(3)
    foreign = [
      ["x"], [""], ["D"], ["D", key], ["D", key, "1"], ["D", "short", Wire.number(0), ""],
      ["?", key, Wire.number(0)], %w[a b c d e]
    ]
    foreign += Array.new(100) { Array.new(random.rand(1..5)) { random.bytes(random.rand(20)) } }
    foreign.each { |message| dealer << message }
    assert_equal [Wire::WELCOME, key, 0], hello(dealer, key, 0)
    assert_equal foreign.size, @receiver.stats.foreign
    entry = SegmentedLog.entry(2, "no record")
    dealer << [
      Wire::DATA, key, Wire.number(0),
      SegmentedLog.entry(1, "") + entry + entry.byteslice(0, 10) + "rubbish"
    ]
    assert_equal [Wire::ACK, key, 2], answer(dealer)
    assert_equal 2, lines.size
    assert_equal [Wire::ACK, key, 3], data(dealer, key, 2, 3)
  end

  test "other records go into the same file" do
    open_receiver
    log = open_log
    log.info("durable")
    assert_flushed(log)
    @receiver.sink.write([record("other"), Godwit::Logger::Record.parse("plain")])
    assert_equal %w[durable other plain], texts
  end

  test "with a broadcaster: durable records and others are in one file, each once, and readers " \
    "see both" do
    broadcaster =
      keep(
        Godwit::Logger::Broadcaster.new(
          endpoint_for(:tcp), nil, durable: endpoint_for(:tcp), sink: Sink.new(file),
          context: context
        )
      )
    broadcaster.start
    durable = open_log(broadcaster.durable.first)
    other =
      keep(Godwit::Logger.new(broadcaster.input.first, progname: "other", reconnect_interval: 0.01))
    50.times do |index|
      durable.info("durable #{index}")
      other.info("other #{index}")
    end
    assert_flushed(durable)
    eventually { broadcaster.last(1_000).size == 100 }
    assert_equal 100, lines.size, "a record is in the file before a reader has it"
    statistics = broadcaster.statistics
    assert_equal [100, 100, 2],
      [statistics.dig("sink", "written"), *statistics.values_at("records", "writers")]
    [other, durable].each(&:close)
    broadcaster.close
    %w[durable other].each do |name|
      assert_equal (0...50).map { |index| "#{name} #{index}" }, texts.grep(/#{name}/)
    end
    Sink.new(file).close # its lock and that of the journal are free
    open_receiver
  end

  test "a broadcaster with durable writers needs a Sink of a regular file" do
    [nil, Object.new.tap { |sink| sink.define_singleton_method(:write) { |_| nil } },
      keep(Sink.new(File::NULL))].each do |sink|
      assert_raises(Godwit::ArgumentTypeError, Godwit::ArgumentValueError) do
        Godwit::Logger::Broadcaster.new(nil, nil, durable: endpoint_for(:tcp), sink: sink,
          context: context)
      end
    end
    context.close # which a socket that was left open would hold up
  end

  test "a copied folder gets a new id, since the receiver could not distinguish its records" do
    open_receiver
    log = open_log
    log.info("first")
    assert_flushed(log)
    FileUtils.cp_r(folder, "#{folder} copy")
    log.info("second")
    assert_flushed(log)
    copy = nil
    _, said = capture_io do
      copy = keep(Godwit::Logger.new(@receiver.last_endpoint, durable: "#{folder} copy", linger: 0))
      copy.info("third") # its number 2 is another's
      assert_flushed(copy)
      copy.info("fourth")
      assert_flushed(copy)
    end
    assert_includes texts, "fourth"
    assert_includes texts, "second"
    assert_match(/durable copy never sent.*new id/, said)
  end

  test "fsync: on both sides asks the disk for each record before it counts as stored" do
    synced = Thread::Queue.new
    Godwit::Logger.const_get(:Folder).stub(:sync_file,
      ->(file) { synced << File.extname(file.path) }) do
      open_receiver(sink: {fsync: true})
      log = open_log(fsync: true)
      20.times do |index|
        log.info(index.to_s)
        assert_flushed(log)
      end
    end
    assert_equal (0...20).map(&:to_s), texts
    counts = Array.new(synced.size) { synced.pop }.tally
    assert_operator counts.fetch(".seg"), :>=, 21, "records, and the file's first entry"
    assert_operator counts.fetch(".log"), :>=, 20
    assert_operator counts.values_at(".new", ".journal").compact.sum, :>=, 21
  end

  test "fsync: asks the disk for the folders too that were made, and for the names in them" do
    synced = []
    Godwit::Logger.const_get(:Folder).stub(:sync, ->(path) { synced << path }) do
      log =
        keep(Godwit::Logger.new(nowhere, durable: "#{folder}/of/billing", linger: 0, fsync: true))
      assert_equal ["#{folder}/of", folder, scratch_dir], synced.shift(3)
      log.info("x")
      assert_equal ["#{folder}/of/billing"], synced, "the first file"
    end
  end

  test "the receiver survives unexpected errors: the records come again" do
    open_receiver
    raising = ->(_) { raise "no" }
    log = open_log
    _, said = capture_io do
      @receiver.sink.stub(:write_durable, raising) do
        log.info("first")
        eventually { @receiver.stats.last_error }
      end
      assert_flushed(log)
    end
    log.info("second")
    assert_flushed(log)
    assert_equal %w[first second], texts
    assert_equal "no", @receiver.stats.last_error.message
    assert_match(/app\.log: no \(RuntimeError\)/, said)
  end

  test "a killed sender has a successor with the next record, which takes over the remaining " \
    "records" do
    open_receiver
    log = open_log
    5.times do |round|
      20.times { |index| log.info("#{round} #{index}") }
      Thread
        .list
        .select { |thread| thread.name == "godwit log durable" }
        .each { |thread| thread.kill.join }
    end
    log.info("last")
    assert_flushed(log)
    assert_equal [
      *(0...5).flat_map { |round| (0...20).map { |index| "#{round} #{index}" } }, "last"
    ],
      texts
  end

  test "a fiber that waits for room lets others run" do
    not_on :jruby, "it has no Fiber scheduler"
    log = open_log(nowhere, durable_bytes: 3_000, overflow: :block)
    other = 0
    waits = fiber do
      Fiber.schedule do
        100.times do |index|
          other = index + 1
          sleep(0) # the scheduler runs others
        end
        open_receiver(nowhere)
      end
      60.times { |index| log.info("record #{index}") }
      log.flush(timeout: 10)
    end
    assert waits.value
    assert_equal 100, other
    assert_equal (0...60).map { |index| "record #{index}" }, texts
  end

  test "receiver.close and then sink.close, as documented, leave the journal to the next; so " \
    "does a receiver that could not begin" do
    2.times do
      sink = Sink.new(file)
      receiver = Receiver.new(endpoint_for(:tcp), sink, context: context)
      assert_raises(Godwit::BusyError) { Receiver.new(endpoint_for(:tcp), sink, context: context) }
      receiver.close
      sink.close
      assert_predicate receiver.sink, :closed?
    end
    sink = keep(Sink.new(file))
    assert_raises(Godwit::EndpointError) { Receiver.new("nonsense", sink, context: context) }
    assert_raises(Godwit::AddressInUseError) do
      taken = open_socket(:PULL).bind(endpoint_for(:tcp))
      Receiver.new(taken.last_endpoint, sink, context: context)
    end
    keep(Receiver.new(endpoint_for(:tcp), sink, context: context)).close
    context.close # which a socket that was left open would hold up
  end
end
