# frozen_string_literal: true

require "test_helper"
require "native/shim/shim"

# A peer that vanishes in the middle of a message: libzmq says EAGAIN between two frames. The shim
# gives libzmq's threads time there; each child tries until a message was cut.
class MidMessageTest < Godwit::TestCase
  SHAPES = [%w[1 end], %w[1 mid end], %w[1 2 3 4 5], ["", ""], ["big" * 10_000, "", "end"]].freeze

  PRELUDE = <<~RUBY
    #{Godwit::TestSupport::Shim::PRELUDE}

    # Yields a bound socket that waits in the middle of a cut message, and the message's parts.
    def cut(type, peer, parts, prime, **options)
      # On a busy machine the millisecond below has often passed.
      limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 15
      until Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
        context = Godwit::Context.new(linger: 0)
        socket = Godwit.const_get(type).bind("inproc://cut", "tcp://127.0.0.1:*", context: context,
          **options)
        first = Godwit.const_get(peer).connect("inproc://cut", context: context)
        # libzmq will not look at its commands in the next millisecond
        2.times { prime.call(socket, first) }
        first.close
        before = Windows.mid_message
        sent = socket.send_nonblock(parts, exception: false)
        if sent == :wait_writable && Windows.mid_message > before
          yield socket, context
          return context.close
        end
        context.close
      end
      abort "never cut in mid-message"
    end

    # Cuts a request; then the block serves the next one.
    def cut_request(parts, type, options, &serve)
      prime = lambda do |socket, first|
        socket.send("prime") && first.recv(timeout: HANG) && first.send("reply") && socket.recv
      end
      cut(:REQ, :REP, parts, prime, **options) do |socket, context|
        peer = Godwit.const_get(type).connect(socket.endpoints.last, context: context,
          reconnect_interval: 0.01)
        server = Thread.new { serve.call(peer) }
        check("the next reply", "reply", socket.request(%w[next 2], timeout: 0.5, retries: 40))
        peer.close
        server.join
      end
    end

    def check(what, expected, got)
      unless expected == got
        abort "\#{what}: expected \#{expected.inspect[0, 200]}, got \#{got.inspect[0, 200]}"
      end
    end
  RUBY

  {PUSH: :PULL, DEALER: :DEALER, PAIR: :PAIR}.each do |type, peer|
    test "#{type} sends the message again, whole and once" do
      assert_child(run_shimmed(<<~RUBY))
        prime = ->(socket, first) { socket.send("prime") && first.recv }
        #{SHAPES}.each do |parts|
          # libzmq mostly drops the rest without a word: nothing to repair.
          next if #{type == :PUSH} && parts.size > 2
          cut(:#{type}, :#{peer}, parts, prime) do |socket, context|
            sender = Thread.new { socket.send(parts, timeout: 10).send("after", timeout: 10) }
            peer = nil
            message = nil
            until message # a PAIR ignores for good who comes before it is done with its last peer
              peer&.close
              peer = Godwit::#{peer}.connect(socket.endpoints.last, context: context)
              message = peer.recv(timeout: 1, exception: false)
            end
            check(parts, parts, message)
            check("after", "after", peer.recv(timeout: 5))
            sender.value
            check("more", nil, peer.recv(timeout: 0.02, exception: false))
          end
        end
      RUBY
    end
  end

  # A peer that lives on gets the message at once.
  test "DEALER continues with another peer" do
    assert_child(run_shimmed(<<~RUBY))
      hits = 0
      20.times do
        context = Godwit::Context.new(linger: 0)
        socket = Godwit::DEALER.bind("inproc://cut", context: context)
        first, other =
          Array.new(2) { Godwit::DEALER.connect("inproc://cut", context: context) }
        2.times { 2.times { socket.send("prime") } && [other, first].each(&:recv) }
        first.close
        before = Windows.mid_message
        3.times { |number| socket.send(["\#{number}", "b", "c"]) }
        hits += Windows.mid_message - before
        got = []
        while (message = other.recv(timeout: 0.02, exception: false))
          got << message
          check("torn", [message.first, "b", "c"], message)
        end
        check("none twice", got.uniq, got)
        context.close
      end
      abort "never cut" if hits.zero?
    RUBY
  end

  # A REQ that is bound can lose the reply to a request that was cut (ADR 3); a time-out repairs
  # that. No part of it is sent alone.
  [{}, {relaxed: true}, {correlate: true}, {relaxed: true, correlate: true}].each do |options|
    test "REQ #{options.keys.join(" ")} stays usable with a REP" do
      not_on :ffi, "a bound REQ whose request was cut raises StateError"
      assert_child(run_shimmed(<<~RUBY))
        #{SHAPES}.each do |parts|
          got = []
          cut_request(parts, :REP, #{options}) do |peer|
            peer.serve { |message| got << message; "reply" }
          end
          check("torn", [], got - [parts, %w[next 2]])
        end
      RUBY
    end
  end

  # A ROUTER sees what a REP would drop: without an id no part of a request comes alone, with an id
  # an empty frame may (ADR 3).
  {{} => [], {correlate: true} => [[4]]}.each do |options, id|
    test "REQ #{options.keys.join(" ")} shows a ROUTER nothing but whole requests" do
      not_on :ffi, "a bound REQ whose request was cut raises StateError"
      assert_child(run_shimmed(<<~RUBY))
        [%w[1 end], ["", ""]].each do |parts|
          got = []
          cut_request(parts, :ROUTER, #{options}) do |peer|
            peer.each do |message|
              got << message.drop(1)
              peer.send([*message[0..message.index("")], "reply"]) if message.size > 2
            end
          end
          got.delete([""]) if #{id.any?}
          shapes = got.map do |message|
            [*message[0...-3].map { |part| [part.bytesize] }, *message.last(3)]
          end.uniq
          # A slow machine tries again: request tells the replies apart.
          shapes.delete([[4], "", "next", "2"]) if #{id.empty?} && shapes.size > 1
          check("requests", [[*#{id}, "", "next", "2"]], shapes)
        end
      RUBY
    end
  end

  # The effect of libzmq on a ROUTER's message: the rest is dropped, and no part of it reaches
  # another peer.
  test "ROUTER drops the rest" do
    assert_child(run_shimmed(<<~RUBY))
      20.times do
        context = Godwit::Context.new(linger: 0)
        router = Godwit::ROUTER.bind("inproc://cut", context: context, mandatory: true)
        one, two = %w[one two].map do |id|
          Godwit::DEALER.connect("inproc://cut", context: context, routing_id: id)
        end
        [one, two].each { |peer| peer.send("here") && router.recv }
        router.send(%w[one prime])
        one.close
        begin
          router.send(%w[one a b c])
        rescue Godwit::UnreachableError
          nil
        end
        router.send(%w[two d e])
        check("two", %w[d e], two.recv(timeout: HANG))
        check("more", nil, two.recv(timeout: 0.01, exception: false))
        context.close
      end
    RUBY
  end

  def run_shimmed(source)
    run_child(PRELUDE + source, env: Godwit::TestSupport::Shim.windows(parts: 3000))
  end
end
