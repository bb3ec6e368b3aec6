# frozen_string_literal: true

require "test_helper"
require_relative "logs"

# `overflow: :spool`: records that the socket does not accept go to the disk, and from there, in
# order, to the reader.
class LoggerSpoolTest < Godwit::TestCase
  include Godwit::TestSupport::Logs

  def folder = File.join(scratch_dir, "spool")

  def spooling(endpoint = record_pull.last_endpoint, **options)
    logger(endpoint, overflow: :spool, spool: folder, reconnect_interval: 0.01, **options)
  end

  # Binds a PULL at the endpoint, from which {#records} then reads.
  def read_at(endpoint) = @record_pull = RecordPull.new(open_socket(:PULL).bind(endpoint))

  def spooled(log, count)
    eventually("only #{log.stats}") { log.stats.spooled >= count }
  end

  test "without a reader records go to the disk, in bounded memory; a reader gets them in order, " \
    "numbered without a gap, before newer ones" do
    endpoint = endpoint_for(:ipc_file)
    log = spooling(endpoint, queue: 500)
    log.info("record 0")
    spooled(log, 1)
    2_000.times do |index|
      log.info("record #{index + 1}")
      spooled(log, index - 200) if (index % 200).zero?
    end
    spooled(log, 2_001)
    assert_equal 1, Dir["#{folder}/*"].size
    read_at(endpoint)
    log.info("record 2001")
    received = records(2_002)
    assert_equal (0..2_001).map { |index| "record #{index}" }, received.map(&:text)
    assert_equal (1..2_002).to_a, received.map(&:seq)
    eventually { log.stats.spooled.zero? }
    log.info("direct")
    assert_equal "direct", record.text
    log.close
    assert_equal [0, 2_003], log.stats.to_h.values_at(:dropped, :sent)
    assert_empty Dir["#{folder}/*"]
  end

  test "records that a process leaves are sent by the next process, under their own id, before " \
    "newer records" do
    may_lose
    endpoint = endpoint_for(:ipc_file)
    log = spooling(endpoint, linger: 0)
    3.times { |index| log.info("first #{index}") }
    spooled(log, 3)
    _, said = capture_io { log.close }
    assert_match(/3 records are kept in .*spool for the next start/, said)
    read_at(endpoint)
    again = spooling(endpoint)
    2.times { |index| again.info("second #{index}") }
    received = records(5)
    assert_equal ["first 0", "first 1", "first 2", "second 0", "second 1"], received.map(&:text)
    assert_equal [1, 2, 3, 1, 2], received.map(&:seq)
    assert_equal 2, received.map(&:writer).uniq.size
    again.close
    assert_empty Dir["#{folder}/*"]
  end

  test "a folder that cannot be taken over delays no other folder" do
    may_lose
    endpoint = endpoint_for(:ipc_file)
    log = spooling(endpoint, linger: 0)
    log.info("left")
    spooled(log, 1)
    capture_io { log.close }
    # A folder has the lock file's name: the logger cannot open it, as in another user's folder.
    %w[0 f].each do |digit|
      Dir.mkdir("#{folder}/#{digit * 32}") && Dir.mkdir("#{folder}/#{digit * 32}/lock")
    end
    read_at(endpoint)
    spooling(endpoint).info("new")
    assert_equal %w[left new], records(2).map(&:text)
  end

  test "a folder that is full: further records are dropped, and counted" do
    may_lose
    log = spooling(nowhere, queue: 10, spool_bytes: 20_000, linger: 0)
    eventually { log.info("x" * 100) && log.stats.dropped > 5 }
    assert_operator Dir["#{folder}/*/*.seg"].sum { |name| File.size(name) }, :<, 30_000
    assert_operator log.stats.spooled, :>, 50
  end

  test "a folder that is deleted while it is in use is made again; its records are reported and " \
    "counted" do
    endpoint = endpoint_for(:ipc_file)
    log = spooling(endpoint)
    FileUtils.rm_r(folder)
    %w[one two].each { |text| log.info(text) }
    spooled(log, 2)
    FileUtils.rm_r(folder)
    _, said = capture_io do
      %w[three four].each { |text| log.info(text) }
      eventually { log.stats.to_h.values_at(:spooled, :dropped) == [2, 2] }
    end
    assert_match(/\Agodwit: log to .*2 records were in .*spool\S+, which is gone\n\z/, said)
    read_at(endpoint)
    assert_equal [["three", 3], ["four", 4]], records(2).map { |one| [one.text, one.seq] }
    eventually { log.stats.spooled.zero? }
  end

  test "a deleted file is no obstacle to later files" do
    endpoint = endpoint_for(:ipc_file)
    log = spooling(endpoint)
    log.info("one")
    spooled(log, 1)
    FileUtils.rm(Dir["#{folder}/*/*.seg"])
    _, said = capture_io do
      read_at(endpoint)
      eventually { log.stats.dropped == 1 }
      log.info("two")
      assert_equal ["two", 2], record.then { |one| [one.text, one.seq] }
    end
    assert_match(/1 records? w\S+ in .*, which is gone/, said)
  end

  test "lines are spooled too" do
    endpoint = endpoint_for(:ipc_file)
    log = spooling(endpoint, wire: :plain)
    log.info("first")
    spooled(log, 1)
    assert_match(/INFO -- : first$/, read_at(endpoint).recv(timeout: 5))
  end

  FORKED = <<~'RUBY'
    require "godwit"
    log = Godwit::Logger.new(ARGV[0], overflow: :spool, spool: ARGV[1], linger: 0)
    $stderr.reopen(File::NULL)
    spool = lambda do |name|
      100.times { |index| log.info("#{name} #{index}") }
      await { log.stats.spooled == 100 }
    end
    spool.call("parent")
    done, ending = IO.pipe, IO.pipe
    children = 2.times.map do |one|
      fork do
        ending.last.close
        spool.call("child#{one}")
        done.last.puts
        ending.first.read # a child that starts after this one's end would adopt its records
      end
    end
    2.times { done.first.gets }
    ending.last.close
    children.each { |pid| Process.wait(pid) }
    puts log.stats.spooled, Dir["#{ARGV[1]}/*"].size
  RUBY

  test "forked children spool separately, and leave their records to the next process" do
    not_on :ffi, "a forked child cannot use it"
    endpoint = endpoint_for(:ipc_file)
    assert_equal "100\n3\n", assert_child(run_child(FORKED, [endpoint, folder])).stdout
    log = spooling(endpoint)
    log.info("next")
    read_at(endpoint)
    received = records(301).map(&:text)
    assert_equal "next", received.pop
    assert_equal %w[child0 child1 parent], received.map { |text| text[/\w+/] }.uniq.sort
    received.group_by { |text| text[/\w+/] }.each do |name, some|
      assert_equal (0...100).map { |index| "#{name} #{index}" }, some
    end
  end

  ROOM_AGAIN = <<~RUBY
    require "godwit"
    trap("XFSZ", "IGNORE")
    Process.setrlimit(:FSIZE, 3_000, 1_000_000)
    log = Godwit::Logger.new(ARGV[0], overflow: :spool, spool: ARGV[1], linger: 0)
    20.times { log.info("x" * 1_000) }
    await { log.stats.spooled == 2 }
    50.times { log.flush(timeout: 0.01) } # each call makes the sender retry, or wait for the disk
    puts Dir[ARGV[1] + "/*"].size
    Process.setrlimit(:FSIZE, 1_000_000)
    await { log.stats.spooled == 20 }
  RUBY

  test "a full disk takes what fits, and the rest once it has room again, in one folder" do
    not_on :jruby, "it has no Process.setrlimit"
    may_lose
    endpoint = endpoint_for(:ipc_file)
    assert_equal "1\n", assert_child(run_child(ROOM_AGAIN, [endpoint, folder])).stdout
    read_at(endpoint)
    spooling(endpoint).info("next")
    assert_equal [*1..20, 1], records(21).map(&:seq)
  end

  test "messages that libzmq still had at the end are sent again at the next start: none is lost" do
    may_lose
    endpoint = endpoint_for(:ipc_file)
    log = spooling(endpoint, linger: 0.05)
    3_000.times { |index| log.info("record #{index} #{"x" * 1_000}") }
    spooled(log, 3_000)
    former = RecordPull.new(open_socket(:PULL, recv_hwm: 1).bind(endpoint))
    accounts = Godwit::Logger::Reader.const_get(:Writers).new
    receive = -> { accounts.count(Godwit::Logger::Record.parse(former.recv(timeout: 5))) }
    receive.call
    eventually { log.stats.sent > 100 }
    capture_io { log.close } # no thread reads `former` during this close
    assert_operator log.stats.spooled, :>, 3_000 - log.stats.sent
    log = spooling(endpoint)
    log.info("next")
    receive.call until accounts.received == 3_001
    assert_equal 0, accounts.lost
    assert_operator log.stats.sent, :<=, 3_001
  end
end
