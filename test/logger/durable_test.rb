# frozen_string_literal: true

require "pathname"
require "timeout"
require_relative "durable"

# `durable: folder`, without crashes: crash_points_test and kill_test cover those.
class LoggerDurableTest < Godwit::TestCase
  include LoggerTests::Durable

  DurableSender = Godwit::Logger.const_get(:DurableSender)
  SegmentedLog = Godwit::Logger.const_get(:SegmentedLog)
  SendWindow = Godwit::Logger.const_get(:SendWindow)
  Wire = Godwit::Logger.const_get(:Wire)

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

  test "records that overflow: :spool left in the folder are sent too" do
    spooling = keep(Godwit::Logger.new(nowhere, overflow: :spool, spool: folder, linger: 0))
    spooling.info("spooled")
    eventually { spooling.stats.spooled == 1 }
    capture_io { spooling.close }
    open_receiver(nowhere, sink: {format: :json})
    open_log(nowhere).info("durable")
    eventually { values("text").size == 2 }
    assert_equal %w[durable spooled], values("text").sort
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

  test "receivers that end one after the other during the handshake are receivers" do
    path = nowhere.delete_prefix("ipc://")
    server = UNIXServer.new(path)
    log = open_log(nowhere)
    _, said = capture_io do
      log.info("x")
      sender = log.instance_variable_get(:@handle).current.instance_variable_get(:@sender)
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
end
