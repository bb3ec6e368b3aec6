# frozen_string_literal: true

require_relative "support/mruby_case"

# Waits in mruby. Programs replace Godwit::Wait.call with a method that suspends the fiber.
class MRubyWaitsTest < MRubyCase
  # Runs fibers as tasks. A wait suspends its fiber until an event or the wait's time-out. mruby
  # cannot suspend a fiber within a C function, so each wait must be in Ruby code.
  TASKS = <<~RUBY
    module Godwit::Wait
      def self.call(waiter, events, milliseconds) = Tasks.wait(waiter, events, milliseconds)
    end

    module Tasks
      WAITING = []

      class << self
        attr_accessor :waits

        def wait(waiter, events, milliseconds)
          self.waits += 1
          deadline = Godwit::Timeout.now + milliseconds / 1000.0 if milliseconds >= 0
          Fiber.yield([waiter, events, deadline])
        end

        def start(&block)
          advance(Fiber.new(&block))
        end

        def advance(fiber, *answer)
          wanted = fiber.resume(*answer)
          WAITING << [fiber, *wanted] if fiber.alive?
        end

        # Runs the tasks until all have ended.
        def finish
          until WAITING.empty?
            fiber, waiter, events, deadline = WAITING.shift
            if ready?(waiter, events)
              advance(fiber, true)
            elsif deadline && Godwit::Timeout.now > deadline
              advance(fiber, false)
            else
              WAITING << [fiber, waiter, events, deadline]
            end
          end
        end

        def ready?(waiter, events)
          return true if events.nil? || waiter.closed? # a Poller checks its objects itself
          ((events & 1) != 0 && waiter.readable?) || ((events & 2) != 0 && waiter.writable?)
        end
      end
      self.waits = 0
    end
  RUBY

  test "each method that waits does so through Godwit::Wait.call" do
    assert_host(TASKS + <<~'RUBY')
      def name = "inproc://waits-#{@serial = @serial.to_i + 1}"
      def silent = @waiter = Godwit::PULL.bind(name)
      def lonely = @waiter = Godwit::PUSH.bind(name) # no peer
      calls = {
        recv: -> { silent.recv }, recv_multipart: -> { silent.recv_multipart },
        recv_string: -> { silent.recv_string }, recv_many: -> { silent.recv_many(3) },
        each: -> { silent.each { |message| p message } },
        wait_readable: -> { silent.wait_readable }, wait_writable: -> { lonely.wait_writable },
        send: -> { lonely.send("x") }, shift: -> { lonely << "x" },
        send_many: -> { lonely.send_many(%w[x y z]) },
        request: -> { (@waiter = Godwit::REQ.bind(name)).request("x") },
        serve: -> { (@waiter = Godwit::REP.bind(name)).serve { |message| message } },
        poller: -> { (@waiter = Godwit::Poller.new(silent)).wait }
      }
      calls.each do |name, call|
        before = Tasks.waits
        Tasks.start do
          call.call
        rescue Godwit::ClosedError
          nil
        end
        check(Tasks.waits > before, "#{name} does not wait through Godwit::Wait.call")
        @waiter.close
        Tasks.finish
      end
    RUBY
  end

  test "a signal's handler neither ends nor prolongs a wait" do
    assert_host(<<~RUBY)
      pull = Godwit::PULL.bind("tcp://127.0.0.1:*")
      push = Godwit::PUSH.connect(pull.last_endpoint)
      poller = Godwit::Poller.new(pull)
      Host.interrupt(5)
      waits = [-> { pull.recv(timeout: 0.1, exception: false) }, -> { poller.wait(0.1).first }]
      waits.each do |wait|
        before = Host.interrupt(5)
        start = Godwit::Timeout.now
        same(nil, wait.call)
        check(Godwit::Timeout.now - start >= 0.1, "too early")
        check(Host.interrupt(5) > before, "no signal")
      end
      push << "x"
      same("x", pull.recv)
      Host.interrupt(0)
    RUBY
  end

  test "a fiber that is dropped while it waits leaves its socket usable, and nothing behind" do
    assert_host(TASKS + <<~'RUBY')
      pull = Godwit::PULL.bind("tcp://127.0.0.1:*")
      push = Godwit::PUSH.connect(pull.last_endpoint)
      poller = Godwit::Poller.new(pull)
      drop = lambda do
        Fiber.new { pull.recv }.resume
        Fiber.new { poller.wait }.resume
        # In the block form, only the collector closes the socket of a dropped fiber.
        Fiber.new { Godwit::PULL.bind("tcp://127.0.0.1:*") { |socket| socket.recv } }.resume
        nil
      end
      exchange = lambda do
        push << "x"
        nil until pull.readable? # polls without a wait
        same("x", pull.recv)
      end
      3.times { drop.call; exchange.call; GC.start }
      blocks = Host.blocks
      descriptors = Host.descriptors
      20.times { drop.call; exchange.call; GC.start }
      check(Host.blocks <= blocks + 20, "#{Host.blocks - blocks} blocks more")
      more = Host.descriptors - descriptors
      check(more <= 6, "#{more} descriptors more")
    RUBY
  end

  test "one request at a time of each REQ; that of a dropped fiber ends with its time" do
    assert_host(TASKS + <<~RUBY)
      rep = Godwit::REP.bind("tcp://127.0.0.1:*")
      [{}, {relaxed: true, correlate: true}].each do |options|
        req = Godwit::REQ.connect(rep.last_endpoint, linger: 0, **options)
        replies = []
        Tasks.start { replies << req.request("a", timeout: 30) }
        Tasks.start do
          second = raised(Godwit::BusyError) { req.request("b", timeout: 30) }.message
          check(second.include?("another fiber's request is open"), second)
        end
        other = Godwit::REQ.connect(rep.last_endpoint)
        Tasks.start { replies << other.request("b", timeout: 30) }
        Tasks.start { 2.times { rep.send("re " + rep.recv(timeout: 30)) } }
        Tasks.finish
        same(["re a", "re b"], replies.sort)

        Fiber.new do
          req.request("dropped", timeout: 0.05)
        rescue Godwit::TimeoutError
          nil # on a busy machine the time-out may be over before the wait begins
        end.resume
        GC.start
        Tasks.start do
          message = nil
          rep.send("re " + (message = rep.recv(timeout: 30))) until message == "c"
        end
        finish = Godwit::Timeout.now + 0.06
        nil until Godwit::Timeout.now > finish
        Tasks.start { replies << req.request("c", timeout: 30) }
        Tasks.finish
        same("re c", replies.last)
      end
    RUBY
  end
end
