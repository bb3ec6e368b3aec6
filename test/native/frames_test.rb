# frozen_string_literal: true

require "test_helper"
require "fiddle"
require "timeout"

# Frames, and Strings that libzmq sends in place: the collector, memory views, threads.
class NativeFramesTest < Godwit::TestCase
  under_gc_stress

  LARGE = 1 << 20

  test "3,000 Strings of 1 MiB, sent in place and forgotten, peak below 150 MB" do
    result = assert_child(run_child(<<~RUBY))
      require "godwit"
      pull = Godwit::PULL.bind("inproc://frames", recv_hwm: 1)
      push = Godwit::PUSH.connect("inproc://frames", send_hwm: 1)
      size = 1 << 20
      3000.times do
        push.send(("x" * size).freeze)
        pull.recv_frame.size == size or abort("wrong")
      end
      puts File.read("/proc/self/status")[/^VmHWM:\\s+(\\d+)/, 1]
    RUBY
    assert_includes 10..150, result.stdout.to_i / 1024
  end

  test "Strings that libzmq holds stay alive and in place, whatever the collector does" do
    endpoint = endpoint_for(:ipc_file)
    push = open_socket(:PUSH, send_hwm: 0).connect(endpoint) # no peer yet
    before = pinned
    trackers =
      Array.new(50) { |number| push.send((number.chr.b * (200_000 + number)).freeze, track: true) }
    assert_operator pinned, :>=, 50
    3.times { GC.start }
    GC.compact
    GC.verify_compaction_references(toward: :empty)
    churn = Array.new(200) { "z" * 200_000 } # reuses memory that was freed too early
    refute trackers.any?(&:done?)
    pull = open_socket(:PULL, recv_hwm: 0).bind(endpoint)
    50.times do |number|
      frame = pull.recv_frame(timeout: 10)
      assert_equal [200_000 + number, number.chr.b], [frame.size, frame.to_s.squeeze]
    end
    assert_equal 200, churn.size
    assert(trackers.all? { |tracker| tracker.wait(5) })
    eventually { pinned <= before }
  end

  test "shared, embedded and unfrozen Strings are copied; a substring of a frozen String may go " \
    "in place" do
    push = open_socket(:PUSH, linger: 0, copy_threshold: 0).connect("tcp://127.0.0.1:1")
    root = ("r" * LARGE).freeze
    {"embedded" => "tiny", "unfrozen" => "u" * LARGE, "empty" => ""}.each do |name, data|
      data = data.dup.freeze unless name == "unfrozen"
      assert_predicate push.send(data, track: true), :done?, name
    end
    tail = root.byteslice(10, LARGE - 10).freeze
    root = nil # standard:disable Lint/UselessAssignment -- tail alone keeps it alive
    tracker = push.send(tail, track: true)
    tail = nil # standard:disable Lint/UselessAssignment -- as above
    GC.start
    GC.compact
    refute_predicate tracker, :done?
    push.close
    assert tracker.wait(5)
  end

  test "sends in place that would block, time out or fail release their Strings" do
    push = open_socket(:PUSH, send_hwm: 1)
    data = ("x" * LARGE).freeze
    before = pinned
    20.times { push.send_nonblock(data, exception: false) }
    assert_raises(Godwit::TimeoutError) { push.send(["a", data], timeout: 0.01) }
    assert_raises(Godwit::UnsupportedError) { open_socket(:PULL).send(data) }
    assert_operator pinned, :<=, before
    assert_nil push.close
  end

  test "Strings that libzmq is done with leave the list of pins, without a collection" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc, copy_threshold: 1000)
    data = ("x" * 1000).freeze # Ruby embeds at most 640 bytes in the String object
    GC.disable
    held, all = nil
    2000.times do
      push.send(data)
      pull.recv
      held, all = Godwit::Tracker.__send__(:_pins)
    end
    assert_operator all - held, :<, 200
  ensure
    GC.enable
  end

  test "a Tracker#wait ends by Thread#kill, by Timeout, and for all waiters" do
    push = open_socket(:PUSH, linger: 0).connect("tcp://127.0.0.1:1")
    tracker = push.send(("x" * LARGE).freeze, track: true)
    waiter = in_thread { tracker.wait }
    waiter.kill
    assert waiter.join(HANG)
    assert_raises(Timeout::Error) { Timeout.timeout(0.05) { tracker.wait } }
    begun = Queue.new
    waiters = Array.new(5) { in_thread { (begun << true) && tracker.wait } }
    5.times { begun.pop }
    push.close
    assert_equal [true] * 5, waiters.map(&:value)
  end

  test "a memory view reads the frame in place; send and close wait for its release" do
    frame = Godwit::Frame.new("hello")
    view = Fiddle::MemoryView.new(frame)
    assert_equal [5, true, 1, "hello"], [view.byte_size, view.readonly?, view.ndim, view.to_s]
    push = open_socket(:PUSH).bind(endpoint_for(:inproc))
    [-> { frame.close }, -> { push.send(frame) }, -> { push.send(["a", frame]) },
      -> { push.send_many([frame]) }, -> { push.send_frame(frame) }].each do |use|
      error = assert_raises(Godwit::BusyError, &use)
      assert_kind_of Errno::EBUSY, error
      assert_match(/memory view .* open/, error.message)
    end
    copy = frame.dup
    copy.close
    second = Fiddle::MemoryView.new(frame)
    view.release
    assert_raises(Godwit::BusyError) { frame.close }
    second.release
    frame.close
    assert_raises(ArgumentError) { Fiddle::MemoryView.new(frame) }
  end

  test "a memory view keeps its frame, through collection and compaction; a frozen frame is sent" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    push.send("v" * LARGE)
    view = Fiddle::MemoryView.new(pull.recv_frame(timeout: 5))
    3.times { GC.start }
    GC.compact
    Array.new(20) { "w" * LARGE }
    assert_equal "v" * LARGE, view.to_s
    frame = Godwit::Frame.new("f" * 1000).freeze
    other = Fiddle::MemoryView.new(frame)
    push.send(frame)
    assert_equal "f" * 1000, pull.recv(timeout: 5)
    [view, other].each(&:release)
  end

  private

  def pinned = Godwit::Tracker.__send__(:_pins).first
end
