# frozen_string_literal: true

require "test_helper"

# Each Ractor may own sockets. Ractors can share a Context, and then inproc works between them.
# Frozen frames can pass to another Ractor.
class RactorsTest < Godwit::TestCase
  PRELUDE = <<~RUBY
    Warning[:experimental] = false
    require "godwit"
    require "timeout"

    def check(what, value = true) = value || abort("wrong: \#{what}")
  RUBY

  def assert_done(source) = assert_equal("", super.stderr)

  test "inproc between two Ractors, by a shared Context and by the process's context" do
    assert_done <<~RUBY
      [Godwit::Context.new, Godwit.context].each do |context|
        pull = Godwit::PULL.bind("inproc://between", context: context)
        other = Ractor.new(context) do |context|
          Godwit::PUSH.connect("inproc://between", context: context) do |push|
            push.send("a").send(%w[b c])
            push.send_many(["d"])
            push.send(Godwit::Message.new("e", ("f" * 100_000).freeze))
          end
          [Godwit.context.equal?(context), context.closed?]
        end
        check("Strings", ["a", %w[b c], "d"] == Array.new(3) { pull.recv(timeout: 5) })
        check("frames", [1, 100_000] == pull.recv_message(timeout: 5).map(&:size))
        check("the Ractor", [context.equal?(Godwit.context), false] == other.take)
        pull.close
      end
    RUBY
  end

  test "tcp, options, errors, time-outs, request and serve within Ractors" do
    assert_done <<~RUBY
      server = Ractor.new do
        rep = Godwit::REP.bind("tcp://127.0.0.1:*", recv_hwm: 10, linger: 1)
        Ractor.yield rep.last_endpoint
        rep.serve { |message| (message == "stop") ? rep.send("bye").close : message.upcase }
        rep.closed?
      end
      endpoint = server.take
      clients = Array.new(3) do |number|
        Ractor.new(endpoint, number) do |endpoint, number|
          req = Godwit::REQ.connect(endpoint)
          Array.new(50) { |round| req.request("c\#{number}.\#{round}", timeout: 5) }
        end
      end
      clients.each_with_index do |client, number|
        check("replies", Array.new(50) { |round| "C\#{number}.\#{round}" } == client.take)
      end
      errors = Ractor.new do
        pull = Godwit::PULL.bind("tcp://127.0.0.1:*")
        [
          -> { pull.recv(timeout: 0.01) }, -> { pull.recv_nonblock }, -> { pull.send("x") },
          -> { pull.bind("nonsense") }, -> { pull.bind("tcp://127.0.0.1:99999") },
          -> { pull.set(:recv_hwmm, 1) }, -> { pull.recv_hwm = -5 },
          -> { Godwit::PUSH.new.send(5) }, -> { Godwit::PUSH.new.send([]) },
          -> { pull.wait_readable("x") }, -> { Godwit::REQ.new.recv }, -> { Godwit::Frame.new(5) },
          -> { Godwit::Message.decode("ab") }, -> { Godwit::Frame.new("x").tap(&:close).size },
          -> { Godwit.has?(:draft) ? raise(Godwit::UnsupportedError) : Godwit::SCATTER.new },
          -> { pull.close || pull.recv }, -> { Godwit::Socket.class_of(:NONE) }
        ].map do |call|
          call.call
          nil
        rescue => error
          [error.class.name, error.is_a?(Godwit::Error), error.retriable?]
        end
      end.take
      check("errors \#{errors}", errors.all? { |error| error && error[1] })
      classes = %w[Godwit::TimeoutError Godwit::EAGAINWaitReadable Godwit::UnsupportedError]
      check("classes", classes == errors.first(3).map(&:first))
      stopper = Godwit::REQ.connect(endpoint)
      check("stop", stopper.request("stop", timeout: 5) == "bye")
      check("served", server.take)
    RUBY
  end

  test "PUB and SUB, wait_connected, keys, frames, trackers, a loop, each within Ractors" do
    assert_done <<~RUBY
      pub = Godwit::PUB.bind("tcp://127.0.0.1:*")
      subs = %w[0 1].map do |topic|
        Ractor.new(pub.last_endpoint, topic) do |endpoint, topic|
          sub = Godwit::SUB.connect(endpoint, subscribe: topic)
          sub.take_while { |message| message[1] != "end" }
        end
      end
      pub.wait_connected(count: 2, timeout: 5)
      %w[0 1].product(%w[a b end]) { |message| pub.send(message) }
      subs.zip(%w[0 1]) { |sub, topic| check("topics", [[topic, "a"], [topic, "b"]] == sub.take) }
      done = Ractor.new do
        keys = Godwit::Curve.keypair
        pull = Godwit::PULL.bind("tcp://127.0.0.1:*", curve: keys)
        push = Godwit::PUSH.connect(pull.last_endpoint, curve: Godwit::Curve.keypair,
          server_key: keys.public_key)
        tracker = push.send(("x" * 100_000).freeze, track: true)
        frame = pull.recv_frame(timeout: 5)
        push.send_frame("a", more: true).send_frame("b")
        got = pull.recv_frames(2, timeout: 5).map(&:to_s)
        ended = Godwit::Loop.run do |loop|
          loop.readable(pull) { |socket| got << socket.recv && loop.remove(socket) }
          loop.every(0.005, times: 2) { |timer| push.send("c") if timer.fired == 2 }
        end
        [frame.size, frame.property("Peer-Address"), tracker.wait(5), ended, got]
      end.take
      check("done \#{done}", [100_000, "127.0.0.1", true, :empty, %w[a b c]] == done)
    RUBY
  end

  test "frozen frames and messages are read and sent by several Ractors at once" do
    assert_done <<~RUBY
      pull = Godwit::PULL.bind("inproc://frames", recv_hwm: 0)
      feed = Godwit::PUSH.connect("inproc://frames")
      feed.send(["r" * 5000, "s"])
      received = pull.recv_message(timeout: 5)
      frames = [
        Godwit::Frame.new("m" * 100), Godwit::Frame.new(("p" * 100_000).freeze), received.first
      ].each(&:freeze)
      check("shareable", frames.all? { |frame| Ractor.shareable?(frame) })
      message = Ractor.make_shareable(received)
      workers = Array.new(3) do
        Ractor.new(frames, message) do |frames, message|
          push = Godwit::PUSH.connect("inproc://frames", send_hwm: 0)
          200.times do
            frames.each { |frame| push.send(frame) }
            push.send(message)
          end
          [frames.map(&:size), frames.map { |frame| frame.unpack1("a1") }, frames.none?(&:gone?),
            message.to_a.map(&:size)]
        end
      end
      sizes = Array.new(3 * 200 * 4) { pull.recv_frames(1, timeout: 10).map(&:size) }.tally
      check("sizes \#{sizes}",
        {[100] => 600, [100_000] => 600, [5000] => 600, [5000, 1] => 600} == sizes)
      workers.each do |worker|
        check("read", [[100, 100_000, 5000], %w[m p r], true, [5000, 1]] == worker.take)
      end
    RUBY
  end

  test "several Ractors send Strings in place, under the collector" do
    assert_done <<~RUBY
      pull = Godwit::PULL.bind("tcp://127.0.0.1:*")
      workers = Array.new(3) do |number|
        Ractor.new(pull.last_endpoint, number) do |endpoint, number|
          push = Godwit::PUSH.connect(endpoint)
          trackers = Array.new(100) do |round|
            GC.start(full_mark: false) if round % 10 == 9
            push.send((number.to_s * (70_000 + round)).freeze, track: true)
          end
          trackers.all? { |tracker| tracker.wait(10) }
        end
      end
      rounds = Hash.new(0)
      300.times do |count|
        frame = pull.recv_frame(timeout: 10)
        number = frame.unpack1("a1")
        check("bytes", frame.to_s == number * (70_000 + rounds[number]))
        rounds[number] += 1
        GC.compact if count % 50 == 0
      end
      workers.each { |worker| check("trackers", worker.take) }
    RUBY
  end

  test "closing a shared Context ends the waits of other Ractors" do
    assert_done <<~RUBY
      context = Godwit::Context.new(linger: 1000)
      others = Array.new(2) do
        Ractor.new(context) do |context|
          pull = Godwit::PULL.bind("tcp://127.0.0.1:*", context: context)
          Ractor.yield :ready
          begin
            pull.recv
          rescue Godwit::ContextTerminatedError, Godwit::ClosedError => error
            pull.close
            error.class.name
          end
        end
      end
      others.each { |other| check("ready", other.take == :ready) }
      mine = Godwit::PUSH.new(context: context)
      context.close
      others.each { |other| check("ended", other.take == "Godwit::ContextTerminatedError") }
      check("mine", mine.closed?)
    RUBY
  end

  test "a socket stays with its Ractor, and the error names that" do
    assert_done <<~RUBY
      push = Godwit::PUSH.new
      check("not shareable", !Ractor.shareable?(push))
      begin
        Ractor.new(push) { |push| push.send("x") }
        abort "a socket crossed"
      rescue Godwit::UnsupportedError => error
        check(error.message, error.message.include?("Ractor"))
      end
      begin
        Ractor.new { Ractor.receive }.send(push, move: true)
        abort "a socket moved"
      rescue Ractor::Error, TypeError
        nil
      end
    RUBY
  end

  test "Ractors that end with their sockets open, and are collected, leave nothing behind" do
    assert_done <<~RUBY
      Godwit.context.max_sockets
      Godwit::PUSH.new.close
      Ractor.new { Godwit::PULL.bind("inproc://x") && nil }.take
      before = descriptors
      20.times do |number|
        Ractor.new(number) { |number| Godwit::PULL.bind("inproc://\#{number}") && nil }.take
      end
      await { GC.start || descriptors <= before + 4 }
    RUBY
  end
end
