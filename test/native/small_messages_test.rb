# frozen_string_literal: true

require "test_helper"

# The memory of small messages (ext/godwit/pool.c) comes from slabs. libzmq's threads return this
# memory, and its size is bounded.
class SmallMessagesTest < Godwit::TestCase
  SIZES = [0, 1, 33, 34, 47, 48, 49, 100, 1023, 1024, 1025].freeze
  SLABS = 1024
  SLAB = 16 * 1024

  test "messages of every size around the borders arrive as they were, by tcp, ipc and inproc" do
    each_transport do |transport|
      pull, push = connected_pair(:PULL, :PUSH, transport: transport, send_hwm: 0, recv_hwm: 0)
      sent =
        Array.new(2000) do |i|
          [i].pack("N").ljust(SIZES[i % SIZES.size], "\xff".b)[0, SIZES[i % SIZES.size]]
        end
      sent.each { |message| push.send(message) }
      assert_equal sent, Array.new(sent.size) { pull.recv }
    end
  end

  test "more messages in transit than the slabs hold use libzmq's memory, and the memory stays " \
    "bounded" do
    if Godwit::TestSupport::GCLevels.slow?
      skip "a million objects are too many for GC.stress and valgrind"
    end
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc, send_hwm: 0, recv_hwm: 0)
    count = SLABS * SLAB / 100
    2.times do |round|
      count.times { |i| push.send(format("%0100d", i + round)) }
      wrong = (0...count).find { |i| pull.recv.to_i != i + round }
      assert_nil wrong
    end
    before = resident
    count.times { |i| push.send(format("%0100d", i)) }
    count.times { pull.recv }
    assert_operator resident - before, :<, 16 << 20
  end

  test "one message that stays keeps its slab, other slabs are freed" do
    kept, keep = connected_pair(:PULL, :PUSH, transport: :inproc)
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc, send_hwm: 0, recv_hwm: 0)
    count = rounds(500, stressed: 10)
    wrong = (0...count).find do |i|
      keep.send(format("%0100d", i))
      300.times { |j| push.send(format("%0100d", j)) }
      (0...300).any? { |j| pull.recv.to_i != j }
    end
    assert_nil wrong
    assert_equal (0...count).to_a, Array.new(count) { kept.recv.to_i }
  end

  private

  def resident = File.read("/proc/self/statm").split[1].to_i * 4096
end
