# frozen_string_literal: true

require "test_helper"
require_relative "counting"

# Garbage collection, descriptors, and the number of objects that a message costs.
class MemoryTest < Godwit::TestCase
  include Godwit::TestSupport::Counting

  test "a receive allocates its String or Frame, a send nothing, and a batch one Array more" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc, send_hwm: 0, recv_hwm: 0)
    frame = "x" * 100
    buffer = +"y" * 200
    messages = Array.new(1000, frame)
    pairs = Array.new(500, %w[a b])
    seen = Array.new(3) do # the first round fills Ruby's caches
      {
        send: objects { 1000.times { push.send(frame) } },
        recv: objects { 1000.times { pull.recv } }, "<<": objects { 1000.times { push << frame } },
        recv_nonblock: objects { 1000.times { pull.recv_nonblock } },
        send_many: objects { push.send_many(messages) },
        recv_many: objects { pull.recv_many(1000) },
        send_nonblock: objects { 10.times { push.send_nonblock(frame) } },
        recv_into: objects { 10.times { pull.recv_into(buffer) } },
        send_many_of_two: objects { push.send_many(pairs) },
        recv_frames: objects { pull.recv_frames(1000) },
        send_frame: objects { 1000.times { push.send_frame(frame) } },
        recv_frame: objects { 1000.times { pull.recv_frame } }
      }
    end
    expected = {send: 0, recv: 1000, "<<": 0, recv_nonblock: 1000, send_many: 0, recv_many: 1001,
                send_nonblock: 0, recv_into: 0, send_many_of_two: 0, recv_frames: 1001,
                send_frame: 0, recv_frame: 1000}
    assert_equal expected, seen.reduce { |one, other| one.merge(other) { |_, *both| both.min } }
  end

  test "large messages touch no new pages: malloc keeps the memory of those before" do
    assert_equal "true\n", assert_child(run_child(<<~RUBY)).stdout
      require "godwit"
      pull = Godwit::PULL.bind("inproc://large")
      push = Godwit::PUSH.connect("inproc://large")
      payload = "x" * 65_536
      rounds = ->(count) do
        count.times do
          128.times { push.send(payload) }
          128.times { pull.recv }
          GC.start
        end
      end
      faults = -> { File.read("/proc/self/stat").rpartition(")").last.split[7].to_i }
      rounds.call(10) # the heap grows
      before = faults.call
      rounds.call(20)
      per_message = (faults.call - before).fdiv(20 * 128)
      puts per_message < 0.05 || per_message
    RUBY
  end

  {
    "closed" => ->(*sockets) { sockets.each(&:close) },
    "closed by another thread" => ->(*sockets) { Thread.new { sockets.each(&:close) }.join },
    "dropped" => ->(*) {}
  }.each do |how, ending|
    test "parts that a thread held back, and read but half, go with the sockets that are #{how}" do
      leaks_allowed! if how == "dropped" # the stack may still reference a few sockets
      200.times { part_and_end(open_socket(:PULL), open_socket(:PUSH), ending) }
      @owned.clear
      100.times { context.inspect } # overwrites old values on the stack
      GC.start
      marker = %w[part of a].join("-")
      found = ObjectSpace.each_object(String).count { |one| one.start_with?(marker) }
      assert_operator found, :<, 40
    end
  end

  # A thread of libzmq sends the queued messages during linger.
  test "the collector does not wait for unsent messages of a dropped context" do
    assert_child(run_child(<<~RUBY, deadline: 20))
      require "godwit"
      Thread.new do
        5.times do
          Godwit::Context.new(linger: 3).socket(:PUSH).connect("tcp://127.0.0.1:1").send("x")
        end
      end.join
      start = now
      until ObjectSpace.each_object(Godwit::Context).count < 3 || now > start + 15
        Thread.new { GC.start }.join
      end
      abort "\#{now - start} s" if now - start > 2
      exit!(0)
    RUBY
  end

  # During the wait `dup` shares the buffer's content, and `freeze` forbids writes to the buffer.
  test "recv_into a buffer that was copied or frozen while it waits" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    buffer = +"x" * 100
    waiter = in_thread { pull.recv_into(buffer) }
    until_waiting(pull)
    copy = buffer.dup
    push.send("hello")
    assert_equal [5, "hello", "x" * 100], [waiter.value, buffer, copy]
    waiter = in_thread { pull.recv_into(buffer) }
    until_waiting(pull)
    buffer.freeze
    push.send("kept")
    assert_raises(FrozenError) { waiter.value }
    assert_equal "kept", pull.recv(timeout: 5)
  end

  private

  def part_and_end(pull, push, ending)
    part = %w[part of a message].join("-") * 20
    endpoint = endpoint_for(:inproc)
    pull.bind(endpoint)
    push.connect(endpoint).send(["first", part]).send_frame(part, more: true)
    pull.recv_frame(timeout: 5)
    ending.call(pull, push)
  end
end
