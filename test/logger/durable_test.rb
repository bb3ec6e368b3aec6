# frozen_string_literal: true

require "pathname"
require "timeout"
require_relative "durable"

# `durable: folder`, without crashes. crash_points_test.rb and kill_test.rb test crashes.
class LoggerDurableTest < Godwit::TestCase
  include LoggerTests::Durable

  DurableSender = Godwit::Logger.const_get(:DurableSender)
  DurableWriter = Godwit::Logger.const_get(:DurableWriter)

  test "records come into the file in order, and are counted once they are acknowledged" do
    open_receiver
    log = open_log
    2_000.times { |index| log.info("record #{index}", index: index) }
    log.info("p" * 70_000) { "under a long name" }
    assert_flushed(log)
    assert_equal [*(0...2_000).map { |index| "record #{index}" }, "under a long name"], texts
    assert_equal [0, 2_001, 0, nil], log.stats.to_h.values_at(:queued, :sent, :dropped, :last_error)
    assert_equal [2_001, 0, 0, nil],
      @receiver.stats.to_h.values_at(:written, :again, :foreign, :last_error)
    assert_match(/\AI, \[.*\]  INFO -- billing: record 0\z/, lines.first)
  end

  test "without a receiver records wait on the disk, later ones are refused; the next process " \
    "sends them, under the same id, and continues its numbers" do
    log = open_log(nowhere)
    3.times { |index| log.info("first #{index}") }
    log.error("first error")
    assert_equal 4, log.stats.queued
    _, said = capture_io { log.close }
    assert_match(/4 records are kept in .*durable for the next start/, said)
    capture_io { assert_equal [false, false], [log.info("late"), log.error("too")] }
    assert_equal [4, 2], [log.stats.queued, log.stats.dropped]
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

  test "records that overflow: :spool left in the folder are sent too" do
    spooling = logger(nowhere, overflow: :spool, spool: folder)
    spooling.info("spooled")
    eventually { spooling.stats.spooled == 1 }
    capture_io { spooling.close }
    open_receiver(nowhere, sink: {format: :json})
    open_log(nowhere).info("durable")
    eventually { values("text").size == 2 }
    assert_equal %w[durable spooled], values("text").sort
  end

  test "counts of topics continue even when all records of them are gone" do
    open_receiver(sink: {format: :json})
    with_constants(DurableWriter, SEGMENT_BYTES: 2_000) do
      (1..3).each do |life|
        log = open_log
        log.error("only once") if life == 1
        30.times { log.info("x") }
        log.error("last") if life == 3
        assert_flushed(log)
        log.close
      end
    end
    info, error = values("level").zip(values("tseq")).partition { |level, _| level == 1 }
    assert_equal [(1..90).to_a, [1, 2]], [info, error].map { |ones| ones.map(&:last) }
    assert_operator Dir["#{folder}/*.seg"].size, :<, 5
  end

  test "a folder has one logger; a second logger's error names the first" do
    open_log(nowhere)
    error = assert_raises(Godwit::BusyError) { open_log(nowhere) }
    assert_match(
      /#{Regexp.escape(folder)}.*process #{Process.pid} uses it.*folder of its own/, error.message
    )
    child = run_child(<<~RUBY, [nowhere, folder])
      require "godwit"
      Godwit::Logger.new(ARGV[0], durable: ARGV[1])
    RUBY
    assert_match(/process #{Process.pid} uses it.*BusyError/, child.stderr)
  end

  test "a folder is free once its logger is closed, also while a process that is just starting " \
    "has copies of all descriptors" do
    not_on :jruby, "its processes start without copies"
    log = open_log(nowhere)
    lock = writer_of(log).instance_variable_get(:@disk).instance_variable_get(:@lock)
    own(lock.instance_variable_get(:@file).dup)
    log.close
    assert_equal 0, open_log(nowhere).stats.queued
  end

  test "durable: and spool: take a Pathname, and a String that the program changes later" do
    text = +folder
    log = logger(nowhere, durable: text)
    text.replace("elsewhere")
    assert_equal true, log.info("x")
    capture_io { log.close }
    assert_equal 1, logger(nowhere, durable: Pathname(folder)).stats.queued
    keep(Godwit::LogDevice.new(nowhere, durable: Pathname("#{folder}2"), linger: 0)).write("x")
    assert_path_exists "#{folder}2/id"
    log = logger(nowhere, overflow: :spool, spool: Pathname("#{folder}3"))
    log.info("x")
    eventually { log.stats.spooled == 1 }
    state = "#{folder}.state"
    keep(Godwit::Logger::Reader.new(endpoint_for(:tcp), state: Pathname(state))).close
    assert_path_exists state
  end

  test "options that contradict durable: are refused at once, and what is no path of a folder" do
    File.write(File.join(scratch_dir, "file"), "")
    spool = {durable: nil, overflow: :spool}
    {
      {overflow: :drop_old} => "overflow:", {wire: :plain} => "wire:", {bind: true} => "bind:",
      {durable_bytes: 0} => "durable_bytes:", {durable: 5} => "durable: takes the path of a folder",
      {durable: ""} => "durable: takes the path of a folder",
      {spool: "a\0b", **spool} => "spool: takes the path of a folder",
      {spool: folder, spool_bytes: 0, **spool} => "spool_bytes:",
      {durable: "#{scratch_dir}/file"} => "file", {spool: "#{scratch_dir}/file", **spool} => "file"
    }.each do |options, says|
      error = assert_raises(ArgumentError, TypeError, Errno::EEXIST, options.inspect) do
        open_log(nowhere, **options)
      end
      assert_kind_of Godwit::Error, error
      assert_includes error.message, says
    end
  end

  test "a peer that is no receiver is reported at once" do
    # The endpoint is ipc: another process could take a port before the receiver binds it.
    pull = open_socket(:PULL).bind(nowhere)
    log = open_log(nowhere)
    _, said = capture_io do
      log.info("x")
      eventually { $stderr.string.end_with?("\n") } # the writer has set last_error before it warns
    end
    assert_match(
      /\Agodwit:\ log\ to\ ipc:.*is\ no\ receiver\ of\ durable\ logs:
        \ give\ the\ endpoint\ of\ `godwit\ log\ serve\ --durable-in`\n\z/x,
      said
    )
    assert_match(/no receiver of durable logs/, log.stats.last_error.message)
    pull.close
    open_receiver(nowhere)
    assert_flushed(log)
  end

  test "receivers that end one after the other during the handshake are receivers" do
    path = nowhere.delete_prefix("ipc://")
    server = UNIXServer.new(path)
    log = open_log(nowhere)
    _, said = capture_io do
      log.info("x")
      sender = writer_of(log).instance_variable_get(:@sender)
      refused = keep(sender.instance_variable_get(:@socket).monitor(:closed))
      2.times do
        connection = server.accept
        server.close
        File.unlink(path)
        connection.close
        assert_equal :closed, refused.recv.name
        server = UNIXServer.new(path)
      end
      server.close
      File.unlink(path)
      open_receiver(nowhere)
      assert_flushed(log)
    end
    assert_equal "", said
    assert_nil log.stats.last_error
  end

  test "a peer that never answers is reported too" do
    router = open_socket(:ROUTER).bind(endpoint_for(:tcp))
    _, said = capture_io do
      with_constants(DurableSender, ANSWER_TIMEOUT: 0.2) do
        open_log(router.last_endpoint).info("x")
        eventually { $stderr.string.end_with?("\n") }
      end
    end
    assert_match(/is no receiver of durable logs.*does not answer/, said)
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

  # Waits until at least `callers` callers wait for room on the disk.
  def until_full(log, callers = 1)
    eventually { writer_of(log).instance_variable_get(:@waiting) >= callers }
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
    before = log.stats.queued
    open_receiver(nowhere)
    assert(eventually { log.stats.sent > before })
    assert_equal 0, log.stats.dropped
    fill.kill.join
    @receiver.close
    last = in_thread { log.info("x") while log.stats.dropped.zero? }
    until_full(log)
    capture_io { log.close }
    ended(last)
  end

  test "overflow: :block waits no longer than block_timeout" do
    log = open_log(nowhere, durable_bytes: 2_000, overflow: :block, block_timeout: 0.01)
    30.times { log.info("x" * 100) }
    assert_operator log.stats.dropped, :>, 10
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
    lock = writer_of(log).instance_variable_get(:@lock)
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
      eventually { !writer_of(log).alive? } # the sender ended, since the folder is gone
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
      copy = logger(@receiver.last_endpoint, durable: "#{folder} copy")
      copy.info("third") # number 2 of the same writer id; the receiver already has "second" as 2
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
    note = ->(file) { synced << File.extname(file.path) }
    Godwit::Logger.const_get(:Files).stub(:sync_file, note) do
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
    Godwit::Logger.const_get(:Files).stub(:sync, ->(path) { synced << path }) do
      log = logger(nowhere, durable: "#{folder}/of/billing", fsync: true)
      assert_equal ["#{folder}/of", folder, scratch_dir], synced.shift(3)
      log.info("x")
      assert_equal ["#{folder}/of/billing"], synced, "the first file"
    end
  end

  test "a killed sender has a successor with the next record, which takes over the remaining " \
    "records" do
    open_receiver
    log = open_log
    100.times do |index|
      log.info(index.to_s)
      next unless index % 20 == 19
      Thread.list.select { |one| one.name == "godwit log durable" }.each { |one| one.kill.join }
    end
    log.info("100")
    assert_flushed(log)
    assert_equal [*"0".."100"], texts
  end
end
