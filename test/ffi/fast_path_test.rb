# frozen_string_literal: true

require "test_helper"
require "support/tiny_scheduler"

# The fast path of send, << and recv, which holds the lock but puts no interrupt off (ADR 15).
class FastPathTest < Godwit::TestCase
  # What a kill, a Timeout or a trap handler does, at a place that no test can hit from outside.
  class Interrupted < StandardError; end

  # @param function of libzmq, after whose next call it comes
  def interrupt_next(function)
    hook = Module.new
    hook.define_method(function) do |*arguments|
      hook.remove_method(function)
      super(*arguments)
      raise Interrupted
    end
    Godwit::Backend::FFI::Zmq.singleton_class.prepend(hook)
  end

  def setup
    super
    skip "the backend is not ffi" unless Godwit::BACKEND == :ffi
  end

  [:recv, :recv_many, :recv_frame, :recv_into].each do |again|
    test "what is left of a message that was interrupted after its first frame never " \
      "comes: #{again}" do
      pull, push = connected_pair(:PULL, :PUSH)
      push << "first"
      assert_equal "first", pull.recv(timeout: 5)
      push << %w[a b c] << "whole"
      assert pull.wait_readable(5)
      interrupt_next(:data)
      assert_raises(Interrupted) { pull.recv(timeout: 5) }
      received =
        (
          if again == :recv_into
            pull.recv_into(buffer = +"", timeout: 5) && buffer
          else
            pull.public_send(again, timeout: 5)
          end
        )
      assert_equal "whole", Array(received).first.to_s
    end
  end

  test "a REP whose request was interrupted may reply" do
    rep, req = connected_pair(:REP, :DEALER)
    req << ["", "a", "b"]
    assert rep.wait_readable(5)
    interrupt_next(:data)
    assert_raises(Interrupted) { rep.recv(timeout: 5) }
    rep.send("answer") # its turn, as when the message is lost at the return
    assert_equal ["", "answer"], req.recv(timeout: 5)
  end

  def handle_of(socket) = Godwit::Socket::FFIPrimitives.handle_of(socket)

  # Connected, with nothing there: until the first message peers are counted, which is no fast path.
  def warm_pair
    pull, push = connected_pair(:PULL, :PUSH)
    push << "first"
    assert_equal "first", pull.recv(timeout: 5)
    [pull, push]
  end

  # Runs the block before the handle's method, once.
  def before_next(handle, method)
    handle.define_singleton_method(method) do |*arguments, **options|
      singleton_class.remove_method(method)
      yield
      __send__(method, *arguments, **options)
    end
  end

  test "one who is interrupted as he stands in the line leaves it" do
    pull, push = warm_pair
    handle = handle_of(pull)
    before_next(handle, :wait_as_only) do
      refute_empty handle.queue
      raise Interrupted
    end
    assert_raises(Interrupted) { pull.recv(timeout: 5) }
    assert_empty handle.queue
    push << "next"
    assert_equal "next", pull.recv(timeout: 5)
  end

  test "one who is interrupted in his wait leaves the line, and the message to the next" do
    pull, push = warm_pair
    thread = in_thread do
      pull.recv
    rescue Interrupted
      :interrupted
    end
    until_waiting(pull)
    thread.raise(Interrupted)
    assert_equal :interrupted, thread.value
    assert_empty handle_of(pull).queue
    push << "next"
    assert_equal "next", pull.recv(timeout: 5)
  end

  test "whose time is up leaves the line" do
    pull, push = warm_pair
    2.times { assert_nil pull.recv(timeout: 0.01, exception: false) }
    assert_empty handle_of(pull).queue
    push << "next"
    assert_equal "next", pull.recv(timeout: 5)
  end

  test "one who is interrupted after he has left takes nobody else's place" do
    pull, push = warm_pair
    handle = handle_of(pull)
    second = nil
    stand = lambda do
      second = in_thread { pull.recv }
      until_waiting(pull)
      raise Interrupted
    end
    handle.define_singleton_method(:wait_as_only) do |*arguments|
      singleton_class.remove_method(:wait_as_only)
      wait_as_only(*arguments) # it has the message, and has left
      stand.call
    end
    first = in_thread do
      pull.recv
    rescue Interrupted
      :interrupted
    end
    until_waiting(pull)
    push << "lost with its receiver"
    assert_equal :interrupted, first.value
    refute_empty handle.queue
    push << "next"
    assert_equal "next", second.value
  end

  test "one who waited alone leaves the place of another who came meanwhile" do
    pull, push = warm_pair
    handle = handle_of(pull)
    thread = in_thread { pull.recv }
    until_waiting(pull)
    other = another_in(handle.queue)
    push << "next"
    assert_equal "next", thread.value
    assert_equal [other], handle.queue.waiters
    handle.queue.leave(other)
  end

  # @return [Godwit::Backend::FFI::Waiter] who waits for messages
  def another_in(line)
    Godwit::Backend::FFI::Waiter.new(line.spare, 1).tap { |waiter| line.enter(waiter) }
  end

  test "two who wait each have a message" do
    pull, push = warm_pair
    threads = Array.new(2) { in_thread { pull.recv } }
    eventually("they never waited") { handle_of(pull).queue.waiters.size == 2 }
    push << "a" << "b"
    assert_equal %w[a b], threads.map(&:value).sort
    assert_empty handle_of(pull).queue
  end

  # libzmq's descriptor tells of a change once: who calls libzmq may have taken that from one who
  # waits.
  test "while somebody waits, who sends or receives looks whether he is to be woken" do
    pull, push = connected_pair(:PULL, :PUSH)
    push << "first" << "second"
    assert_equal "first", pull.recv(timeout: 5)
    assert pull.wait_readable(5)
    [[push, -> { push << "third" }], [pull, -> { pull.recv }]].each do |socket, call|
      handle = handle_of(socket)
      looked = 0
      handle.define_singleton_method(:settle) { super().tap { looked += 1 } }
      call.call
      assert_equal 0, looked
      waiter = another_in(handle.queue)
      call.call
      assert_operator looked, :>, 0
      handle.queue.leave(waiter)
    end
  end

  test "the lock is free after an interrupt" do
    pull, push = connected_pair(:PULL, :PUSH)
    push << "a" << "b"
    assert pull.wait_readable(5)
    interrupt_next(:data)
    assert_raises(Interrupted) { pull.recv(timeout: 5) }
    interrupt_next(:send_string)
    assert_raises(Interrupted) { push << "c" }
    in_thread { push << "d" }.join
    assert_equal %w[b c d], Array.new(3) { pull.recv(timeout: 5) }
  end

  # Another thread holds the lock while the block runs, until that says that it begins.
  def until_begun(handle)
    begun = []
    held = false
    holder =
      in_thread do
        handle
          .instance_variable_get(:@mutex)
          .synchronize { (held = true) && Thread.pass while begun.empty? }
      end
    eventually { held }
    yield begun
    holder.join
  end

  # Unlocking a Mutex that a fiber waits for in a thread with a scheduler calls the scheduler,
  # and CRuby 3.1 may crash there (Lock).
  {
    "the fast path" => ->(push) { push.send("x", timeout: 5) },
    "the slow path" => ->(push) { push.send_nonblock("x") }
  }.each do |name, use|
    test "who finds the lock taken, where there is a scheduler, leaves it to none: #{name}" do
      not_on :jruby, "JRuby has no fiber scheduler"
      pull, push = warm_pair
      asked = []
      scheduler = Class.new(Godwit::TestSupport::TinyScheduler) do
        define_method(:block) do |blocker, *seconds|
          asked.push(blocker) && super(blocker, *seconds)
        end
        define_method(:unblock) { |blocker, fiber| asked.push(blocker) && super(blocker, fiber) }
      end
      # In a fiber, and in the thread itself.
      [->(&block) { Fiber.schedule(&block) }, ->(&block) { block.call }].each do |way|
        rounds(50, stressed: 5).times do
          until_begun(handle_of(push)) do |begun|
            in_thread do
              Fiber.set_scheduler(scheduler.new)
              way.call { begun.push(true) && use.call(push) }
            end.join
          end
          assert_equal "x", pull.recv(timeout: 5)
        end
      end
      mine = handle_of(push).instance_variable_get(:@mutex)
      assert_empty(asked.select { |blocker| blocker.equal?(mine) })
    end
  end

  test "a forked child is told from its parent" do
    not_on :jruby, "JRuby cannot fork"
    program = <<~RUBY
      require "godwit"
      pull = Godwit::PULL.bind("inproc://forked")
      pull.recv_nonblock(exception: false)
      reader, writer = IO.pipe
      try = lambda do
        pull.recv_nonblock
      rescue => error
        error.class
      end
      pid = fork do
        writer.puts try.call
        exit!(0)
      end
      Process.wait(pid)
      puts reader.gets, pull.recv_nonblock(exception: false)
    RUBY
    assert_equal "Godwit::ForkedError\nwait_readable\n",
      assert_child(
        run_child(program, gems: true, env: {"GODWIT_BACKEND" => "ffi"})
      ).stdout
  end
end
