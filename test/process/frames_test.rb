# frozen_string_literal: true

require "test_helper"
require_relative "forking"

# Frames, Strings in place and trackers across fork and exit.
class FramesProcessTest < Godwit::TestCase
  include Godwit::TestSupport::Forking

  test "a child reads and drops the frames it inherited, and its end disturbs nothing" do
    assert_done <<~RUBY
      pull, push = pair
      push.send("f" * 100_000)
      frame = pull.recv_frame(timeout: 5)
      data = ("d" * 100_000).freeze
      tracker = push.send(data, track: true)
      in_child do
        raise "its bytes" unless frame.to_s == "f" * 100_000
        frame.close
        forked { push.send(Godwit::Frame.new(data)) }
        forked { pull.recv_frame }
        forked { pull.recv_frames }
        forked { pull.recv_message }
        forked { push.send_frame("x") }
        3.times { GC.start; GC.compact }
        child_pull, child_push = pair
        own = child_push.send(data, track: true)
        raise "the child's own" unless child_pull.recv(timeout: 5) == data && own.wait(5)
        true
      end
      raise "the parent's frame" unless frame.to_s == "f" * 100_000
      raise "the parent's String" unless pull.recv(timeout: 5) == data
      raise "the parent's tracker" unless tracker.wait(5)
    RUBY
  end

  test "Strings in place that are in transit at exit arrive whole" do
    pull = open_socket(:PULL, recv_hwm: 0).bind(endpoint_for(:tcp))
    child = start_child(<<~RUBY, [pull.last_endpoint])
      require "godwit"
      push = Godwit::PUSH.connect(ARGV[0], send_hwm: 0)
      20.times { |number| push.send(((number + 65).chr * 500_000).freeze) }
      $kept = Array.new(5) { Godwit::Frame.new(("z" * 100_000).freeze) }
    RUBY
    20.times do |number|
      got = pull.recv(timeout: 10)
      assert_equal [500_000, [number + 65]], [got.bytesize, got.bytes.uniq]
    end
    assert_child child.finish
  end
end
