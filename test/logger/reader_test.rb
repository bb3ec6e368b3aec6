# frozen_string_literal: true

require "test_helper"
require_relative "made_records"

# Logger::Reader: the records that it returns, its counts, its waits and its end.
class LoggerReaderTest < Godwit::TestCase
  include MadeRecords

  Reader = Godwit::Logger::Reader

  def reader(**options) = own(Reader.new("tcp://127.0.0.1:*", context: context, **options))

  def push_to(reader, **options) = open_socket(:PUSH, **options).connect(reader.last_endpoint)

  def texts(reader, count) = Array.new(count) { reader.recv(timeout: 5).text }

  test "each, an Enumerator, lazy: records that were not taken stay for the next call" do
    one = reader
    push_to(one).send_many(Array.new(600) { |i| frames(i + 1, level: i % 6) })
    one.each { |record| break if record.seq == 10 }
    assert_equal [11, 12, 13], one.first(3).map(&:seq)
    assert_equal [18, 24], one.lazy.select { |record| record.level == 5 }.map(&:seq).first(2)
    assert_equal 25, one.each.next.seq
    assert_equal [25, 0], [one.received, one.lost]
    assert_equal (26..600).to_a, one.first(575).map(&:seq)
  end

  test "foreign messages may be observed, without a lock" do
    one = reader
    seen = []
    assert_same one, one.on_foreign { |message| seen << [message, one.foreign] }
    sender = push_to(one)
    sender.send_many([%w[a b], frames(1), %w[x y]])
    sender.send(frames(2))
    assert_equal ["text 1", "text 2"], texts(one, 2)
    assert_equal [[%w[a b], 1], [%w[x y], 2]], seen
    one.on_foreign
    sender.send_many([%w[a b], frames(3)])
    assert_equal ["text 3"], texts(one, 1)
    assert_equal 2, seen.size
  end

  test "wait_connected: till the first writer is there" do
    one = reader
    assert_raises(Godwit::TimeoutError) { one.wait_connected(timeout: 0) }
    push_to(one)
    assert_same one, one.wait_connected(timeout: 5)
    error = assert_raises(Godwit::TimeoutError) { one.recv(timeout: 0) }
    assert_match(/no record came/, error.message)
    assert_raises(Godwit::ArgumentValueError) { one.recv(timeout: -1) }
  end

  test "gaps are counted per writer, and a repeated record is not counted twice" do
    one = reader
    push = push_to(one)
    [1, 2, 5, 5, 3, 6].each { |seq| push.send(frames(seq, writer: writer(1))) }
    [7, 8, 20].each { |seq| push.send(frames(seq, writer: writer(2), prog: "cards")) }
    9.times { one.recv(timeout: 5) }
    accounts = one.writers.sort_by(&:writer)
    assert_equal [
      [writer(1), "billing", "web1", 5, 1, 2, 1, 6], [writer(2), "cards", "web1", 3, 11, 0, 7, 20]
    ],
      accounts.map { |account|
        account.to_h.values_at(*%w[writer prog host received lost late first last])
      }
    assert_equal [8, 12, 2], [one.received, one.lost, one.late]
    assert_in_delta Time.now.to_f, accounts.first.time, 60
    assert_match(/received 5, lost 1, late 2, 1..6/, accounts.first.inspect)
  end

  test "lines of plain writers are read, foreign messages counted and left out" do
    one = reader
    push = push_to(one)
    foreign.each { |message| push.send(message) }
    push.send(line("card refused")).send("just text").send(frames(1))
    assert_equal ["card refused", "just text", "text 1"], texts(one, 3)
    assert_equal [foreign.size, 2, 3, 0], [one.foreign, one.plain, one.received, one.lost]
  end

  test "many writers are remembered, idle ones forgotten, their losses not" do
    accounts = Reader.const_get(:Writers).new(most: 100)
    accounts.time = 0.0
    accounts.count(Godwit::Logger::Record.parse(frames(1, writer: writer(0))))
    accounts.count(Godwit::Logger::Record.parse(frames(3, writer: writer(0))))
    1.upto(99) do |i|
      accounts.time += 1
      accounts.count(Godwit::Logger::Record.parse(frames(1, writer: writer(i))))
    end
    accounts.time += 1
    accounts.count(Godwit::Logger::Record.parse(frames(1, writer: writer(100))))
    assert_equal 91, accounts.to_a.size
    refute_includes accounts.to_a.map(&:writer), writer(0)
    assert_includes accounts.to_a.map(&:writer), writer(99)
    assert_equal [102, 1], [accounts.received, accounts.lost]
  end

  test "the state file carries the accounts over to the next reader, which reports records that " \
    "arrived and were not read" do
    file = File.join(scratch_dir, "reader.state")
    one = reader(state: file)
    push = push_to(one, linger: 0.05)
    [1, 2, 4, 5].each { |seq| push.send(frames(seq)) }
    3.times { one.recv(timeout: 5) }
    one.close
    push.close
    two = reader(state: file)
    assert_equal [3, 1], [two.received, two.lost]
    push_to(two).send(frames(7)).send(frames(3, writer: writer(3)))
    2.times { two.recv(timeout: 5) }
    known, fresh = two.writers.sort_by { |account| -account.last }
    assert_equal [4, 3, 1, 7], [known.received, known.lost, known.first, known.last]
    assert_equal [1, 2, 1, 3], [fresh.received, fresh.lost, fresh.first, fresh.last]
    assert_equal ["reader.state"], Dir.children(scratch_dir).grep(/state/)
  end

  # An id can be invalid UTF-8, since some versions of the gem json decode a lone surrogate, as in
  # "\udfff".
  test "a stranger's id that is no UTF-8 does not end the state file" do
    state = Reader.const_get(:State).new(File.join(scratch_dir, "reader.state"))
    accounts =
      ["a\xED\xBF\xBF", "\e[2J", "ab" * 16].map do |writer|
        Reader::WriterStatistics.new(writer, 1, prog: "pr\xffog", host: "h")
      end
    state.save(accounts)
    assert_nil state.error
    assert_equal ["\e[2J", "ab" * 16], state.load.map(&:writer).drop(1)
  end

  test "the state file is written while the reader runs, also when no more records come" do
    file = File.join(scratch_dir, "reader.state")
    one = reader(state: file)
    push_to(one).send(frames(1))
    one.recv(timeout: 5)
    waiting = in_thread { one.recv }
    eventually { File.exist?(file) }
    assert_equal [1],
      JSON.parse(File.read(file)).fetch("writers").values.map { |values| values["last"] }
    one.close
    assert_raises(Godwit::ClosedError) { waiting.value }
  end

  test "a file that is no state is left alone, and trouble with the disk does not end the " \
    "reading" do
    file = File.join(scratch_dir, "reader.state")
    ["", "[]", "{}", '{"writers":[1]}', '{"writers":{"a":{"first":"1"}}}', "\xff"].each do |text|
      File.binwrite(file, text)
      error = assert_raises(Godwit::ArgumentValueError, text) { reader(state: file) }
      assert_match(/state: takes a file that a reader wrote/, error.message)
      assert_equal text.b, File.binread(file)
    end
    assert_raises(Errno::ENOENT) { reader(state: "/nowhere/reader.state") }
    [5, "", "a\0b", scratch_dir].each do |path|
      error = assert_raises(Godwit::ArgumentTypeError, Godwit::ArgumentValueError, path.inspect) do
        reader(state: path)
      end
      assert_includes error.message, "state: takes "
    end
    folder = File.join(scratch_dir, "folder").tap { |path| Dir.mkdir(path) }
    one = reader(state: File.join(folder, "state"))
    push_to(one).send(frames(1))
    one.recv(timeout: 5)
    FileUtils.rm_r(folder)
    _, errors = capture_io { one.close }
    assert_match(/state was not written: No such file/, errors)
  end

  test "the block form closes, and a copy is refused" do
    seen = nil
    value = Reader.new("tcp://127.0.0.1:*", context: context) do |one|
      assert_equal [one.last_endpoint, one.port],
        [one.endpoints.first, one.last_endpoint[/\d+\z/].to_i]
      seen = one
    end
    assert_same seen, value
    assert_predicate seen, :closed?
    assert_match(/closed/, seen.inspect)
    assert_raises(Godwit::UnsupportedError) { seen.dup }
  end

  def subscriber(pub, **options)
    own(Reader.subscribe(pub.last_endpoint, context: context, **options)).tap do
      pub.wait_connected(timeout: 5)
    end
  end

  test "a subscriber gets the levels and programs that it asked for, and filters host and tag" do
    pub = open_socket(:PUB).bind(endpoint_for(:tcp))
    one = subscriber(pub, level: "error+", prog: "billing")
    [
      line("plain", prog: "other"), frames(1, level: 1), frames(2, level: 3, prog: "billing2"),
      frames(3, level: 4), line("plain", prog: "billing"), frames(4, level: 3, text: "last")
    ].each { |message| pub.send(message) }
    assert_equal ["text 3", "plain", "last"], texts(one, 3)
    # The line of program "other" arrived too: subscriptions cannot select the program of a line.
    assert_equal 4, one.received
    two =
      own(Reader.subscribe(pub.last_endpoint, context: context, host: %w[web1 web2], tag: "req-9"))
    eventually do
      pub.send(frames(10, host: "web3", tags: ["req-9"]))
        .send(frames(11, host: "web2", tags: ["req-8"]))
        .send(frames(12, host: "web2", tags: %w[a req-9]))
      two.recv(timeout: 0.01, exception: false)&.seq
    end.then { |seq| assert_equal 12, seq }
  end

  # @param records [Hash{Integer => Integer}] writer => number of its records; writers send in
  #   this order
  def sent_at_once(records, **options)
    pub = open_socket(:PUB, send_hwm: 0).bind(endpoint_for(:inproc))
    one = own(Reader.subscribe(pub.last_endpoint, context: context, recv_hwm: 0, **options))
    pub.wait_connected(timeout: 5)
    pub.send_many(
      records.flat_map do |number, count|
        Array.new(count) { |i| frames(i + 1, writer: writer(number)) }
      end
    )
    one
  end

  test "writers that share a connection take turns" do
    one = sent_at_once({1 => 4000, 2 => 3, 3 => 1})
    order = one.first(4004).map { |record| [record.writer.to_i, record.seq] }
    assert_equal [[1, 1], [2, 1], [3, 1], [1, 2], [2, 2], [1, 3], [2, 3], [1, 4]], order.first(8)
    assert_equal (1..4000).to_a, order.filter_map { |number, seq| seq if number == 1 }
    assert_equal [4004, 0, 0, 0], [one.received, one.lost, one.late, one.dropped]
  end

  test "the queue of a subscriber is bounded: the writer with most of it loses records" do
    one = sent_at_once({1 => 4000, 2 => 100}, queue_bytes: 150_000)
    records = one.first(200).group_by(&:writer)
    assert_equal (1..100).to_a, records[writer(2)].map(&:seq)
    rest = []
    while (record = one.recv(timeout: 0, exception: false))
      rest << record
    end
    assert_equal 4000, rest.size + 100 + one.dropped
    assert_operator one.dropped, :>, 3000
    assert_equal [writer(1)], rest.map(&:writer).uniq
    error = assert_raises(ArgumentError) { Reader.subscribe("tcp://:1", queue_bytes: 0) }
    assert_match(/queue_bytes: takes bytes, 1 or more/, error.message)
  end

  test "a subscriber to some topics counts the gaps within each, a subscriber to everything by " \
    "seq, from the first record that arrives" do
    pub = open_socket(:PUB).bind(endpoint_for(:tcp))
    some = subscriber(pub, level: "warn+")
    # tseq of the records of topic WARN: 1, 40, 3 (late); of topic ERROR: 41, 45, 45 (again)
    [
      [2, 1, 2], [3, 40, 2], [5, 41, 3], [8, 3, 2], [9, 45, 3], [10, 45, 3]
    ].each { |seq, tseq, level| pub.send(frames(seq, tseq: tseq, level: level)) }
    6.times { some.recv(timeout: 5) }
    account = some.writers.first
    assert_equal [4, 38 + 3, 2, 10], [account.received, account.lost, account.late, account.last]
    pub = open_socket(:PUB).bind(endpoint_for(:tcp))
    all = subscriber(pub)
    [[15, 1], [16, 1], [19, 2]].each { |seq, tseq| pub.send(frames(seq, tseq: tseq)) }
    3.times { all.recv(timeout: 5) }
    assert_equal [3, 2, 0], [all.received, all.lost, all.late]
  end

  test "several threads share one reader: each record once, and no gap is seen" do
    one = reader
    threads = Array.new(4) { in_thread { one.each.map(&:seq) } }
    push_to(one).send_many(Array.new(2_000) { |i| frames(i + 1) })
    eventually { one.received == 2_000 }
    until_waiting(one, 4)
    2.times { one.close }
    assert_raises(Godwit::ClosedError) { one.recv(timeout: 0) }
    assert_equal (1..2_000).to_a, threads.flat_map(&:value).sort
    assert_equal [2_000, 0, 0], [one.received, one.lost, one.late]
  end

  test "waiting threads share the records of one message" do
    one = reader
    push = push_to(one)
    taken = Queue.new
    threads = Array.new(3) { in_thread { taken << one.recv(timeout: 5).seq } }
    until_waiting(one, 3)
    push.send(batch(Array.new(4) { |i| frames(i + 1) }))
    threads.each(&:join)
    assert_equal [1, 2, 3], Array.new(3) { taken.pop }.sort
    assert_equal 4, one.recv(timeout: 0).seq
    push.send(["godwit-log-batch", "no batch"])
    push.send(frames(5))
    assert_equal [5, 1, 0], [one.recv(timeout: 5).seq, one.foreign, one.lost]
  end

  test "a waiting thread is woken for records that another thread left" do
    one = reader
    push = push_to(one)
    waiting = in_thread { one.recv(timeout: 5).seq }
    until_waiting(one)
    push.send_many(Array.new(300) { |i| frames(i + 1) })
    mine = one.each { |record| break record.seq }
    refute_equal waiting.value, mine
  end

  test "under a fiber scheduler a reader that waits lets others run" do
    not_on :ffi, "a wait there holds its thread"
    one = reader
    push = push_to(one)
    seen = []
    in_thread do
      Fiber.set_scheduler(Godwit::TestSupport::TinyScheduler.new)
      2.times { Fiber.schedule { one.each { |record| break if seen.push(record.seq).size >= 99 } } }
      Fiber.schedule do
        100.times { |i| push.send(frames(i + 1)) && Fiber.scheduler.kernel_sleep(0) }
      end
      Fiber.scheduler.run
    end.join
    assert_equal (1..100).to_a, seen.sort
  end

  test "a slow block is not given many records of one writer at once" do
    one = own(Reader.new(endpoint_for(:inproc), context: context)) # inproc: records arrive at once
    push_to(one, send_hwm: 3_000).send_many(
      Array.new(3_000) { |i| frames(i + 1, writer: writer(1)) }
    )
    slow = nil
    behind = 0
    one.each do |record|
      break if record.writer == writer(2)
      behind += 1 if slow
      sleep(0.001) # the block's work
      next if slow || record.seq < 600
      slow = push_to(one).send(frames(1, writer: writer(2)))
    end
    assert_operator behind, :<, 64
  end

  test "a writer that floods delays no slow one: it need not wait for the other's earlier " \
    "records" do
    one = own(Reader.new(endpoint_for(:inproc), context: context)) # inproc: records arrive at once
    push = push_to(one)
    in_thread do
      batch = Array.new(100) { |i| frames(i + 1, writer: writer(0)) }
      loop { push.send_many(batch) }
    end
    until_waiting(push) # the PUSH's queue is full
    slow = Array.new(3) { push_to(one) }
    flooded = 0
    behind = []
    one.each do |record|
      if record.writer == writer(0)
        flooded += 1
        if (flooded % 500).zero?
          slow.each_with_index { |push, i| push.send(frames(flooded, writer: writer(i + 1))) }
        end
      else
        behind << flooded - record.seq
      end
      break if behind.size >= 60
    end
    assert_operator flooded, :>=, 10_000
    assert_operator behind.max, :<, 512, "two batches"
  end
end
