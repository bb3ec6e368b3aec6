# frozen_string_literal: true

require_relative "support/mruby_case"
require_relative "../native/shim/shim"

# A peer that vanishes in the middle of a message: the next peer gets the message whole (law 3). The
# shim pauses the sender after each frame, so that libzmq's threads notice the peer's end.
class MRubyMidMessageTest < MRubyCase
  UNTIL_CUT = <<~RUBY
    # Repeats the block until a message was cut. The block closes the peer within a millisecond in
    # which libzmq processes no commands; on a busy machine that time is often over too soon.
    def until_cut
      before = Host.cuts
      limit = Godwit::Timeout.now + 15
      while Host.cuts == before
        check(Godwit::Timeout.now < limit, "no message was cut")
        context = Godwit::Context.new(linger: 0)
        yield context, -> { Host.cuts > before }
        context.close
      end
    end
  RUBY

  def assert_shimmed(source)
    assert_host(UNTIL_CUT + source, env: Godwit::TestSupport::Shim.windows(parts: 3000))
  end

  {PUSH: [:PULL, %w[1 end]], DEALER: [:DEALER, %w[1 mid end]]}.each do |type, (other, parts)|
    test "a #{type} sends the message again, whole and once" do
      assert_shimmed(<<~RUBY)
        until_cut do |context, cut|
          socket = Godwit::#{type}.bind("inproc://cut", context: context)
          peer = Godwit::#{other}.connect("inproc://cut", context: context)
          2.times { socket.send("prime") && peer.recv(timeout: 5) }
          peer.close
          sent = socket.send_nonblock(#{parts}, exception: false)
          if cut.call
            same(:wait_writable, sent)
            peer = Godwit::#{other}.connect("inproc://cut", context: context)
            socket.send(#{parts}, timeout: 5).send("after", timeout: 5)
            same([#{parts}, "after"], [peer.recv(timeout: 5), peer.recv(timeout: 5)])
            same(nil, peer.recv(timeout: 0.01, exception: false))
          end
        end
      RUBY
    end
  end

  REQUEST = <<~RUBY
    def ask(req, rep)
      2.times { (req << "prime") && (rep << rep.recv(timeout: 5)) && req.recv(timeout: 5) }
      rep.close
      req.send_nonblock(%w[1 2 3], exception: false)
    end
  RUBY

  test "a connected REQ is made anew, and sends its request whole" do
    assert_shimmed(REQUEST + <<~RUBY)
      until_cut do |context, cut|
        rep = Godwit::REP.bind("inproc://cut", context: context)
        req = Godwit::REQ.connect("inproc://cut", context: context)
        ask(req, rep)
        if cut.call
          rep = Godwit::REP.bind("inproc://cut", context: context)
          same(%w[1 2 3], rep.recv(timeout: 5))
          rep << "reply"
          same("reply", req.recv(timeout: 5))
        end
      end
    RUBY
  end

  test "a bound REQ raises StateError" do
    assert_shimmed(REQUEST + <<~RUBY)
      until_cut do |context, cut|
        req = Godwit::REQ.bind("inproc://cut", context: context)
        rep = Godwit::REP.connect("inproc://cut", context: context)
        begin
          ask(req, rep)
          check(!cut.call, "no error")
        rescue Godwit::StateError => error
          check(cut.call && error.message.include?("a peer vanished"), error.message)
        end
      end
    RUBY
  end
end
