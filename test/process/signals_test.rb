# frozen_string_literal: true

require "test_helper"

# Signals reach every waiting call. The programs are child processes, since a signal is sent to a
# whole process.
class SignalsTest < Godwit::TestCase
  # Without a trap, INT and TERM end Java and raise no exception.
  RAISE = <<~RUBY
    if RUBY_ENGINE == "jruby"
      main = Thread.current
      trap(:INT) { main.raise(Interrupt) }
      trap(:TERM) { main.raise(SignalException, "SIGTERM") }
    end
  RUBY
  PRELUDE = RAISE + <<~RUBY
    require "godwit"
    require "./test/support/waiting_calls"
    include Godwit::TestSupport::WaitingCalls
  RUBY

  {"Ctrl-C" => [:INT, "rescue Interrupt"], "SIGTERM" => [:TERM, "rescue SignalException"],
   "a throw out of a trap handler" => [:USR1, ""]}.each do |sentence, (signal, caught)|
    test "#{sentence} ends every waiting call of the main thread" do
      not_on :jruby, "its trap handlers run in another thread" if signal == :USR1
      assert_done <<~RUBY
        trap(:USR1) { throw :done }
        each_waiting_call do |call|
          catch(:done) do
            when_waiting(call.waited_on) { Process.kill(:#{signal}, Process.pid) }
            call.run
            abort
          #{caught}
          end
          call.object.close
        end
      RUBY
    end
  end

  # The tests omit Reader and Stream: their close locks a Mutex, which Ruby forbids in a handler.
  {
    "object" => ["call.object.close", "ClosedError"],
    "context" => ["call.object.context.shutdown", "ContextTerminatedError"],
    "context, by close," => ["call.object.context.close", "ClosedError"]
  }.each do |what, (ending, error)|
    test "a trap handler ends the #{what}, and so every waiting call; before, it ends none" do
      assert_done <<~RUBY
        each_waiting_call(ALL.keys.grep_v(/Reader|Stream/)) do |call|
          handled = 0
          trap(:USR1) { #{ending} if (handled += 1) == 3 }
          when_waiting(call.waited_on) do
            3.times do |number|
              Process.kill(:USR1, Process.pid)
              Thread.pass until handled > number
            end
          end
          begin
            call.run
            abort unless call.own_error? && handled == 3
          rescue Godwit::#{error}
            abort unless handled == 3
          end
        end
      RUBY
    end
  end

  test "Ctrl-C reaches the main thread while others wait" do
    assert_done <<~RUBY
      pull = Godwit::PULL.bind("inproc://others")
      push = Godwit::PUSH.connect("inproc://others")
      waiters = Array.new(4) { Thread.new { pull.recv } }
      until_waiting(pull, 4)
      go = Thread::Queue.new
      # If the main thread sent the signal itself, Interrupt would be raised in Process.kill.
      2.times { Thread.new { go.pop && Process.kill(:INT, Process.pid) } }
      [-> { sleep }, -> { loop {} }].each do |idle|
        go << true
        idle.call
      rescue Interrupt
        nil
      end
      4.times { |number| push.send(number.to_s) }
      abort "the waiters were disturbed" unless waiters.map(&:value).sort == %w[0 1 2 3]
    RUBY
  end

  test "a trap handler uses the socket that the main thread waits on, and the wait continues" do
    assert_done <<~RUBY
      context = Godwit::Context.new(linger: 0)
      dealer = Godwit::DEALER.bind("tcp://127.0.0.1:*", context: context)
      peer = Godwit::DEALER.connect(dealer.last_endpoint, context: context)
      peer.send("hello")
      dealer.recv
      seen = []
      trap(:USR1) do
        dealer.send("from the handler")
        here = [
          dealer.recv_nonblock(exception: false), dealer.events,
          dealer.recv(timeout: 0.01, exception: false)
        ]
        dealer.recv_hwm
        Godwit::PUSH.new(context: context).close
        seen.concat(here) # last: on JRuby the main thread runs beside the handler
      end
      helper = Thread.new do
        3.times do |turn|
          Thread.pass until seen.size == 3 * turn
          until_waiting(dealer)
          Process.kill(:USR1, Process.pid)
          peer.recv(timeout: 5) == "from the handler" or abort "nothing came"
        end
        Thread.pass until seen.size == 9
        until_waiting(dealer)
        peer.send("the answer")
      end
      # The answer comes after three runs of the handler.
      abort "the wait did not go on" unless dealer.recv(timeout: 15) == "the answer"
      helper.join
      abort seen.inspect unless seen == [:wait_readable, [:writable], nil] * 3
    RUBY
  end

  # A signal whose handler does nothing must not shorten or end a wait, however often it arrives.
  test "a storm of signals neither ends a wait nor loses a message" do
    assert_done <<~RUBY
      pull = Godwit::PULL.bind("tcp://127.0.0.1:*")
      push = Godwit::PUSH.connect(pull.last_endpoint)
      caught = 0
      trap(:USR1) { caught += 1 }
      done = false
      storm = Thread.new { (Process.kill(:USR1, Process.pid); Thread.pass) until done }
      start = now
      abort "a message?" unless pull.recv(timeout: 0.3, exception: false).nil?
      abort "too early: \#{now - start}" unless now - start >= 0.3
      1000.times do |number|
        push.send(number.to_s)
        abort number.to_s unless pull.recv(timeout: 5) == number.to_s
      end
      done = true
      storm.join
      abort "no signal came" if caught.zero?
    RUBY
  end

  test "Ctrl-C ends Context#close that waits for linger" do
    child = start_child(<<~RUBY)
      #{RAISE}
      require "godwit"
      context = Godwit::Context.new(linger: nil)
      push = Godwit::PUSH.connect("tcp://127.0.0.1:1", context: context)
      push.send("kept")
      begin
        Thread.new { puts "ready" }
        context.close
      rescue Interrupt
        puts "interrupted"
      end
    RUBY
    child.wait_for("ready").signal(:INT).wait_for("interrupted")
    # The process's exit waits too, since linger has no limit. A signal that comes before this wait
    # does not end it, so the test sends signals until the process has ended.
    eventually { child.signal(:INT) && child.ended? }
    result = child.finish
    refute result.timed_out, result.to_s
  end
end
