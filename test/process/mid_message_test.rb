# frozen_string_literal: true

require "test_helper"
require "native/shim/shim"

# When the peer disconnects while a socket sends it a message, libzmq returns EAGAIN between two
# frames: the message is "cut". The shim pauses the sender after each frame, so that libzmq's
# threads notice the disconnect. Each child process tries until a message was cut.
class MidMessageTest < Godwit::TestCase
  SHAPES = [%w[1 end], %w[1 mid end], %w[1 2 3 4 5], ["", ""], ["big" * 10_000, "", "end"]].freeze

  PRELUDE = <<~RUBY
    #{Godwit::TestSupport::Shim::PRELUDE}

    # Yields a sender whose message was cut, its context, and the endpoint of the cut connection's
    # socket. The sender is that socket, or a PUSH to a proxy that has the socket.
    def cut(type, peer, parts, prime, proxied: false, **options)
      # On a busy machine many tries fail: the millisecond below is over too soon.
      limit = now + 15
      until now > limit
        context = Godwit::Context.new(linger: 0)
        sender = socket = Godwit.const_get(type).bind("inproc://cut", "tcp://127.0.0.1:*",
          context: context, **options)
        sender = proxy_to(socket) if proxied
        first = Godwit.const_get(peer).connect("inproc://cut", context: context)
        # After these calls libzmq processes no commands for a millisecond.
        2.times { prime.call(sender, first) }
        first.close unless proxied
        before = Windows.mid_message
        sent = sender.send_nonblock(parts, exception: false)
        if proxied
          first.close # by now the proxy sends the message
          soon = now + 0.2
          Thread.pass until Windows.mid_message > before || now > soon
        end
        if (proxied || sent == :wait_writable) && Windows.mid_message > before
          yield sender, context, socket.endpoints.last
          return context.close
        end
        context.close
      end
      abort "never cut in mid-message"
    end

    def proxy_to(socket)
      front = Godwit::PULL.bind("inproc://front", context: socket.context)
      Godwit::Proxy.new(front, socket).start
      Godwit::PUSH.connect("inproc://front", context: socket.context)
    end

    # Cuts a request; then the block serves the next one.
    def cut_request(parts, type, options, &serve)
      prime = lambda do |socket, first|
        socket.send("prime") && first.recv(timeout: HANG) && first.send("reply") && socket.recv
      end
      cut(:REQ, :REP, parts, prime, **options) do |socket, context, endpoint|
        peer = Godwit.const_get(type).connect(endpoint, context: context,
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

  {PUSH: :PULL, DEALER: :DEALER, PAIR: :PAIR}.to_a.product([false, true]) do |(type, peer), proxied|
    test "#{type}#{" of a proxy" if proxied} sends the message again, whole and once" do
      assert_child(run_shimmed(<<~RUBY, proxied ? 20_000 : 3000))
        prime = ->(sender, first) { sender.send("prime") && first.recv(timeout: 5) }
        #{SHAPES}.each do |parts|
          # Of a longer message libzmq mostly drops the rest without an error.
          next if #{type == :PUSH} && parts.size > 2
          cut(:#{type}, :#{peer}, parts, prime, proxied: #{proxied}) do |sender, context, endpoint|
            sending = Thread.new do
              sender.send(parts, timeout: 10) unless #{proxied}
              sender.send("after", timeout: 10)
            end
            peer = nil
            message = nil
            until message # a PAIR ignores a peer that comes before its last peer has departed
              peer&.close
              peer = Godwit::#{peer}.connect(endpoint, context: context)
              message = peer.recv(timeout: 1, exception: false)
            end
            check(parts, parts, message)
            check("after", "after", peer.recv(timeout: 5))
            sending.value
            check("more", nil, peer.recv(timeout: 0.02, exception: false))
          end
        end
      RUBY
    end
  end

  # A bound REQ can lose the reply to a request that was cut (ADR 3). `request` sends such a request
  # again after its time-out. No frame of a cut request arrives without the others.
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

  # A ROUTER also receives messages that a REP would drop. With `correlate: true` the ROUTER may
  # receive one empty frame of a cut request (ADR 3); without it, only whole requests.
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
          # On a slow machine `request` sends again, with an id that tells the replies apart.
          shapes.delete([[4], "", "next", "2"]) if #{id.empty?} && shapes.size > 1
          check("requests", [[*#{id}, "", "next", "2"]], shapes)
        end
      RUBY
    end
  end

  # libzmq drops the remaining frames of a ROUTER's message; another peer receives none of them.
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

  # @param pause [Integer] pause in microseconds after each frame
  def run_shimmed(source, pause = 3000)
    run_child(PRELUDE + source, env: Godwit::TestSupport::Shim.windows(parts: pause))
  end
end
