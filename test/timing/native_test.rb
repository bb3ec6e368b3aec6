# frozen_string_literal: true

require "test_helper"

# What waits uses no processor time.
class NativeTimingTest < Godwit::TestCase
  WINDOW = 0.5 # seconds

  test "an idle proxy sleeps" do
    streamer = Godwit::Proxy.streamer(*%i[PULL PUSH].map { |type| open_socket(type).bind(endpoint_for(:inproc)) }).start
    until_waiting(streamer)
    assert_operator cpu { sleep(WINDOW) }, :<, WINDOW / 2
    streamer.stop.wait(HANG)
  end

  test "a wait sleeps, whatever was seen before" do
    pull, push = connected_pair(:PULL, :PUSH)
    push.send("x")
    pull.recv(timeout: HANG)
    assert_operator cpu { pull.recv(timeout: WINDOW, exception: false) }, :<, WINDOW / 2
  end

  test "a wait from which a raise is held off sleeps" do
    pull, = connected_pair(:PULL, :PUSH)
    thread = in_thread { Thread.handle_interrupt(Object => :never) { pull.recv(timeout: WINDOW, exception: false) } }
    until_waiting(pull)
    thread.raise("held off")
    assert_operator cpu { assert_raises(RuntimeError) { thread.value } }, :<, WINDOW / 2
  end

  private

  # @return [Float] seconds of processor time of all of this process, for the length of the block
  def cpu
    before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    yield
    Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - before
  end
end
