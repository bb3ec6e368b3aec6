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

  # Under steady traffic of others there is always something new; a deadline counts all the same.
  test "a deadline holds beside others that are always quicker" do
    router = open_socket(:ROUTER, mandatory: true, send_hwm: 1).bind(endpoint_for(:inproc))
    full, busy = %w[full busy].map { |id| open_socket(:DEALER, routing_id: id, recv_hwm: 1).connect(router.last_endpoint) }
    [full, busy].each { |peer| peer.send("here") && router.recv }
    nil until router.send_nonblock(%w[full x], exception: false) == :wait_writable
    stop = false
    3.times { in_thread { router.send(%w[busy x]) until stop } }
    3.times { in_thread { router.recv until stop } }
    2.times { in_thread { busy.recv && busy.send("y") until stop } }
    late = Array.new(5) do
      started = monotonic
      assert_nil router.send(%w[full x], timeout: 0.1, exception: false)
      monotonic - started - 0.1
    end
    stop = true
    # Ruby's own slices are 100 ms, and eight others are at work: it may have to wait for a slice of each.
    assert_operator late.sort[2], :<, 1.0, "#{late.map { |seconds| seconds.round(2) }} s late"
  end

  test "a wait for a draft socket sleeps" do
    library = ENV["GODWIT_DRAFT_LIBRARY"] or skip "the stage builds a libzmq with drafts"
    result = assert_child(run_child(<<~RUBY, env: {"LD_LIBRARY_PATH" => library}))
      require "godwit"
      server = Godwit::SERVER.bind("tcp://127.0.0.1:*")
      client = Godwit::CLIENT.connect(server.last_endpoint)
      [client, server].each do |socket|
        before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
        (socket == client) ? socket.recv(timeout: #{WINDOW}, exception: false) : socket.recv_from(timeout: #{WINDOW}, exception: false)
        puts Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - before
      end
    RUBY
    result.stdout.each_line { |seconds| assert_operator Float(seconds), :<, WINDOW / 2 }
  end

  private

  # @return [Float] seconds of processor time of all of this process, for the length of the block
  def cpu
    before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    yield
    Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - before
  end
end
