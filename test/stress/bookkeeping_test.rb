# frozen_string_literal: true

# libzmq: test_shutdown_stress

require_relative "stress_case"

# Several threads, parallel on JRuby, change the data that Godwit itself stores about a socket, a
# poller and a context.
class BookkeepingTest < Godwit::StressCase
  THREADS = 4

  test "endpoints and options from several threads at once" do
    pull = open_socket(:PULL)
    each = messages(200)
    together do |number|
      each.times do |turn|
        pull.bind("inproc://#{number}.#{turn}")
        pull.backlog = turn + 1
        pull.unbind("inproc://#{number}.#{turn}") if turn.odd?
      end
    end
    assert_equal THREADS * ((each + 1) / 2), pull.endpoints.size
    assert_equal pull.endpoints.uniq, pull.endpoints
  end

  test "registering and removing while another thread waits" do
    poller = open_poller
    ends = Array.new(THREADS) { connected_pair(:PULL, :PUSH, transport: :inproc) }
    stop = false
    waiting = in_thread { poller.wait(0.001) until stop }
    together do |number|
      pull, push = ends[number]
      messages(300).times do |turn|
        poller.register(pull)
        push.send(turn.to_s)
        poller.modify(pull, :readable)
        assert_includes poller.to_a, pull
        assert_equal turn.to_s, pull.recv(timeout: PATIENCE)
        poller.remove(pull)
      end
    end
    stop = true
    waiting.join
    assert_equal 0, poller.size
  end

  test "a context that closes while threads open sockets in it" do
    messages(40).times do
      context = Godwit::Context.new
      # Each socket has its own name: libzmq releases a name some time after the close.
      workers = Array.new(THREADS) do |number|
        in_thread do
          (1..).each do |turn|
            Godwit::PAIR.new(context: context).bind("inproc://#{number}.#{turn}").close
          end
        end
      end
      context.io_threads
      context.close
      workers.each do |worker|
        error = assert_raises(Godwit::ClosedError, Godwit::ContextTerminatedError) { worker.value }
        refute_nil error.operation
      end
    end
  end

  private

  # Runs the block in several threads, each with its number.
  def together
    gate = Thread::Queue.new
    threads = Array.new(THREADS) do |number|
      in_thread do
        gate.pop
        yield number
      end
    end
    gate.close
    threads.each(&:value)
  end
end
