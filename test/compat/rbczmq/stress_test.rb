# frozen_string_literal: true

require "native/counting"
require_relative "rbczmq_case"

class RbczmqStressTest < Godwit::RbczmqCase
  include Godwit::TestSupport::Counting

  SOCKETS = 20_000
  AT_ONCE = 100

  test "twenty thousand sockets, opened and closed" do
    ctx.linger = 0
    types = %i[PUSH PULL PUB SUB REQ REP DEALER ROUTER PAIR XPUB XSUB]
    opened = 0
    before = descriptors
    (SOCKETS / AT_ONCE).times do |round|
      sockets =
        Array.new(AT_ONCE) do |number|
          ctx.bind(types[number % types.size], "inproc://#{round}-#{number}")
        end
      opened += sockets.size
      sockets.each(&:close)
      eventually { descriptors < before + 500 } # libzmq frees them later
    end
    assert_equal SOCKETS, opened
    # Java keeps some descriptors until it collects.
    eventually("the descriptors of closed sockets stay") { descriptors <= before + 100 }
  end

  test "contexts that are destroyed while sockets are in use in other threads" do
    Godwit::TestSupport::Length.of(10, long: 30).times do |round|
      context = ZMQ::Context.new
      context.linger = 0
      busy = Queue.new
      threads =
        [
          -> { forever(context.bind(:PULL, "inproc://a"), busy) { |pull| pull.recv } },
          -> do
            forever(context.connect(:PUSH, "inproc://a"), busy) { |push| push.send("x" * 100) }
          end,
          -> { forever(context.bind(:PUSH, "inproc://nobody"), busy) { |push| push.send("x") } },
          -> do
            forever(context.bind(:REP, "inproc://b"), busy) { |rep| rep.recv && rep.send("reply") }
          end,
          -> do
            forever(context.connect(:REQ, "inproc://b"), busy) do |req|
              req.send("request") && req.recv
            end
          end,
          -> do
            forever(context.bind(:ROUTER, "tcp://127.0.0.1:*"), busy) do |router|
              router.recv_message
            end
          end,
          -> { forever(context.bind(:DEALER, "inproc://c"), busy) { |dealer| dealer.poll(-1) } },
          -> { forever(context, busy) { |one| make_and_close(one) } },
          -> { polling(context, busy) }
        ].map { |work| in_thread(&work) }
      threads.size.times { busy.pop }
      context.destroy
      threads.each { |thread| assert_includes [:destroyed], thread.value, "round #{round}" }
      assert_nil ZMQ.context
    end
  end

  # libzmq frees a closed socket's descriptor later.
  def make_and_close(context)
    context.socket(:SUB).close
  rescue Errno::EMFILE
    Thread.pass
  end

  # Until the context is gone.
  def forever(subject, busy)
    yield subject if subject.is_a?(ZMQ::Context)
    busy << true
    loop { yield subject }
  rescue ZMQ::Error => error
    error.message.match?(/destroyed|closed/i) ? :destroyed : error
  rescue SystemCallError => error
    (error.errno == ZMQ::ETERM) ? :destroyed : error
  end

  def polling(context, busy)
    poller = ZMQ::Poller.new
    poller.register(context.bind(:PULL, "inproc://d"))
    busy << true
    poller.poll(-1)
    :not_ended
  rescue ZMQ::Error => error
    error.message.match?(/destroyed|closed/i) ? :destroyed : error
  end
end
