# frozen_string_literal: true

require "test_helper"
require "pp"
require "godwit/perf"
require "support/ports"

# Godwit::Perf against servers that answer, answer wrongly, and give no answer.
class PerfMeasureTest < Godwit::TestCase
  Perf = Godwit::Perf
  HERE = "tcp://127.0.0.1:*"
  PATIENCE = 60 # seconds: the usual time-out of a measurement here

  def server(endpoint = HERE, **options)
    server = own(Perf::Server.new(endpoint, context: context, **options))
    in_thread { server.run }
    server.last_endpoint
  end

  # Starts a REP that replies with the block's value. Returns the REP's endpoint.
  def echo
    rep = open_socket(:REP).bind(HERE)
    in_thread { rep.serve { |message| yield message } }
    rep.last_endpoint
  end

  # The time-out is long, since a loaded machine may answer late.
  def options(given) = {context: context, timeout: PATIENCE, **given}

  def latency(endpoint, **given) = Perf.latency(endpoint, **options(given))

  def throughput(endpoint, **given) = Perf.throughput(endpoint, **options(given))

  def load(endpoint, **given) = Perf.load(endpoint, **options(given))

  test "latency of a count: the warm-up is extra, and each round trip is in the histogram" do
    seen = Hash.new(0)
    found = latency(echo { |message| seen[message] += 1 and message }, size: 7, count: 500)
    assert_equal [500, 500, 1_000, 7, 0],
      [found.count, found.histogram.count, found.warmup, found.size, found.timeouts]
    assert_equal({"x" * 7 => 1_500}, seen)
    assert_operator found.seconds, :>=, found.histogram.mean * 499
    assert_in_delta 500 / found.seconds, found.rate, 1e-6
    assert_operator found.connect_seconds, :>, 0
    assert_predicate found, :frozen?
    assert_predicate found.histogram, :frozen?
    assert_match(/\A#<\S+Latency tcp:\S+ 7 B: 500 round trips, p50 \S+ us, p99 \S+ us>\z/,
      found.inspect)
    assert_equal "#{found.inspect}\n", PP.pp(found, +"", 20)
  end

  test "latency of each size, over tcp and ipc, to Godwit's own server and to its own child" do
    {server => [0, 70_000], server(endpoint_for(:ipc)) => [100]}.each do |endpoint, sizes|
      sizes.each { |size| assert_equal 3, latency(endpoint, size: size, count: 3).count }
    end
    assert_equal 3, Perf.latency(count: 3, timeout: PATIENCE).count
  end

  test "a program that ignores the end of its children measures with its own child" do
    result = run_child(<<~RUBY)
      require "godwit/perf"
      trap("CHLD", "IGNORE")
      puts Godwit::Perf.latency(count: 3, timeout: 60).count
    RUBY
    assert_equal "3\n", assert_child(result).stdout
  end

  test "a request without a reply in time is counted, and not sent again" do
    requests = 0
    rep = open_socket(:REP).bind(HERE)
    monitor = own(rep.monitor(:disconnected))
    in_thread do
      loop do
        message = rep.recv
        requests += 1
        # The reply waits until the client has timed out, disconnected, and connected again.
        monitor.next_event(timeout: PATIENCE) if requests == 1_003
        rep.send(message)
      end
    end
    found = latency(rep.last_endpoint, count: 5, timeout: 1)
    assert_equal [4, 1, 1_005], [found.count, found.timeouts, requests]
  end

  test "no answer is an error that names endpoint and time" do
    silent = open_socket(:REP).bind(HERE).last_endpoint
    nobody = "tcp://127.0.0.1:#{Godwit::TestSupport::Ports.free}"
    {silent => %i[latency load], nobody => %i[latency load throughput]}.each do |endpoint, calls|
      calls.each do |call|
        rate = (call == :load) ? {rate: 10_000} : {}
        error = assert_raises(Godwit::TimeoutError) do
          send(call, endpoint, count: 5, timeout: 0.2, **rate)
        end
        assert_equal "no answer from #{endpoint} in 0.2 s", error.message
        refute_operator Perf::ServerLostError, :===, error
      end
    end
    error = assert_raises(Godwit::TimeoutError) { throughput(silent, count: 5, timeout: 5) }
    why = /: connected to 1 peer for .*; it has sent nothing/ unless RUBY_ENGINE == "jruby"
    assert_match(/\Ano answer from #{silent} in 5 s#{why}\z/, error.message)
  end

  test "a server that is no echo is an error" do
    wrong = echo { |message| message.is_a?(String) ? "#{message}!" : message }
    assert_raises(Godwit::AnswerError) { latency(wrong, count: 5) }
    frames = echo { |message| [message, "more"] }
    error = assert_raises(Godwit::AnswerError) { latency(frames, size: 10, count: 5) }
    assert_match(/it replied 10 \+ 4 bytes to 10/, error.message)
    assert_raises(Godwit::AnswerError) { load(wrong, rate: 10_000, count: 5) }
    error = assert_raises(Godwit::AnswerError) { throughput(echo { |message| message }, count: 5) }
    assert_match(/is no `godwit perf serve`/, error.message)
  end

  test "throughput counts at the receiver, one by one, in batches, without copies, of each size" do
    endpoint = server
    {{} => [0, 1, 100], {batch: 300} => [2], {zero_copy: true} => [0],
     {batch: 256, zero_copy: true} => [70_000]}.each do |options, sizes|
      sizes.each do |size|
        found = throughput(endpoint, size: size, count: 1_000, **options)
        names = %i[sent received lost duplicated out_of_order foreign warmup size]
        assert_equal [1_000, 1_000, 0, 0, 0, 0, 1_000, size],
          names.map { |name| found.public_send(name) }, "#{size} #{options}"
        assert_in_delta found.rate * size / 1e6, found.megabytes, 1e-9
        assert_predicate found, :frozen?
        assert_match(/Throughput tcp:\S+ #{size} B: 1000 of 1000 messages, \d+ a second/,
          found.inspect)
      end
    end
    assert_equal 10, throughput(server(endpoint_for(:ipc)), count: 10).received
    assert_equal 10, Perf.throughput(count: 10, timeout: PATIENCE).received
  end

  test "measurements for a time" do
    endpoint = server
    found = latency(endpoint, time: 0.05)
    assert_operator found.seconds, :>=, 0.05
    assert_operator found.count, :>, 0
    found = throughput(endpoint, time: 0.05)
    assert_equal found.sent, found.received
    found = load(endpoint, rate: 1_000, time: 0.05)
    assert_equal [50, 0.05], [found.sent, found.seconds]
  end

  test "load sends each message when it is due, and takes each reply" do
    found = load(echo { |message| message }, rate: 5_000, count: 1_000, size: 9)
    assert_equal [1_000, 1_000, 1_000, 0, 5_000.0, 0.2],
      [found.sent, found.intended.count, found.actual.count, found.timeouts, found.requested_rate,
        found.seconds]
    assert_operator found.intended.mean, :>=, found.actual.mean
    assert_match(/Load tcp:\S+ 9 B: \d+ of 5000 messages a second, intended p50 /, found.inspect)
    assert_predicate found, :frozen?
    assert_equal 20, load(server, rate: 10_000, count: 20, size: 70_000).intended.count
    assert_equal 20, Perf.load(rate: 10_000, count: 20, timeout: PATIENCE).intended.count
  end

  test "latency of a count ends when a server connects, but replies no more" do
    count = 0
    held = Thread::Queue.new
    endpoint = echo { |message| ((count += 1) > 1_003) ? held.pop : message }
    link = Perf.const_get(:Link).new(endpoint, 1, {context: context})
    link.define_singleton_method(:patience) { 2 }
    error = assert_raises(Perf::ServerLostError) do
      Perf.const_get(:LatencyMeasurement).new(link, 1, nil, 100).run
    end
    assert_equal [3, 2, true, endpoint],
      [error.result.count, error.result.timeouts, error.result.frozen?, error.endpoint]
    assert_equal 31, Perf.const_get(:Link).new(endpoint, 1, {}).patience
    held.close
  end

  test "throughput ends within its time-out after the server has died" do
    pull, endpoint, rep = receiver
    dies = in_thread { pull.recv.then { [pull, rep].each(&:close) } }
    measures = in_thread { throughput(endpoint, time: 2 * HANG, timeout: 1) }
    error = assert_raises(Godwit::TimeoutError) { ended(measures) }
    dies.join
    assert_kind_of Perf::ServerLostError, error
    assert_nil error.result
    assert_equal "no answer from #{endpoint} in 1 s: the server or its connection ended during " \
      "the measurement, and its figures with it", error.message
  end

  # A REP that acts as the server of a throughput measurement, and the PULL for its messages.
  # @yieldreturn [Hash] the server's answer to the request "result"
  # @return [Array(Socket, String, Socket)] the PULL, and the server's endpoint and socket
  def receiver(&answer)
    pull = open_socket(:PULL, recv_hwm: 1).bind(HERE)
    rep = open_socket(:REP).bind(HERE)
    in_thread do
      rep.serve do |message|
        receive = Perf::Server.values(message)["do"] == "receive"
        Perf::Server.command(receive ? {"id" => 1, "endpoint" => pull.last_endpoint} : answer.call)
      end
    end
    [pull, rep.last_endpoint, rep]
  end

  # @return [Hash, nil] the values of the next message; nil unless the message is a mark, which
  #   begins or ends the measured messages
  def mark(pull) = Perf::Server.values(pull.recv)

  # @param patience [Numeric] seconds: the time-out of each request; a send times out after 0.05 s
  def impatient_throughput(endpoint, size:, count:, patience: PATIENCE)
    link = Perf.const_get(:Link).new(endpoint, patience, {context: context})
    link.define_singleton_method(:send_timeout) { 0.05 }
    Perf.const_get(:ThroughputMeasurement).new(link, size, nil, count, nil, false).run
  end

  test "throughput goes on while a slow receiver takes nothing for longer than the time-out" do
    asked = 0
    takes, done = Array.new(2) { Thread::Queue.new }
    pull, endpoint = receiver do
      takes << true if (asked += 1) == 2 # the second request: two sends have timed out
      next {"ended" => false} unless done.closed?
      {"seconds" => 1.0, "received" => 20, "lost" => 0, "duplicated" => 0, "out_of_order" => 0,
       "foreign" => 0}
    end
    in_thread do
      takes.pop
      nil until mark(pull)&.fetch("mark") == "finish"
      done.close
    end
    found = impatient_throughput(endpoint, size: 256 << 10, count: 20)
    assert_equal [20, 20], [found.sent, found.received]
    assert_operator asked, :>, 2
  end

  test "throughput ends when a server answers, but neither receives nor ends" do
    [256 << 10, 1].each do |size| # all messages of the second size fit into the queues
      _, endpoint = receiver { {"ended" => false, "taken" => 5} }
      error = with_clock(Godwit::TestSupport::ManualClock.new(tick: 10.0)) do
        measures = in_thread { impatient_throughput(endpoint, size: size, count: 20, patience: 20) }
        assert_raises(Godwit::TimeoutError) { ended(measures) }
      end
      assert_equal "#{endpoint} answers, but the measurement had not ended after 50 s " \
        "without a message", error.message
    end
  end

  test "over ipc a server names an endpoint of ipc, without control characters" do
    [nil, 5, "tcp://127.0.0.1:1", "ipc:///tmp/a\e[31m"].each do |wrong|
      rep = open_socket(:REP).bind(endpoint_for(:ipc))
      in_thread { rep.serve { Perf::Server.command({"id" => 1, "endpoint" => wrong}) } }
      error = assert_raises(Godwit::AnswerError, wrong.inspect) do
        throughput(rep.last_endpoint, count: 5, timeout: 1)
      end
      assert_match(/malformed answer/, error.message)
    end
  end

  test "over IPv6" do
    skip "no IPv6 here" unless Socket.ip_address_list.any?(&:ipv6_loopback?)
    endpoint = server("tcp://[::1]:*")
    assert_equal [5, 5, 5], [latency(endpoint, count: 5).count,
      throughput(endpoint, count: 5).received, load(endpoint, rate: 1_000, count: 5).sent]
  end

  test "what is not allowed" do
    {
      [:latency, {size: -1}] => /size: takes bytes, 0 to 67108864: got -1/,
      [:throughput, {size: 1 << 40}] => /size: takes bytes, 0 to 67108864/,
      [:latency, {count: 0}] => /count: takes a number, 1 or more: got 0/,
      [:latency, {time: 0}] => /time: takes seconds, more than 0: got 0/,
      [:throughput, {batch: 0}] => /batch: takes messages/,
      [:load, {rate: 0}] => /rate: takes messages a second/,
      [:load, {rate: Float::NAN}] => /rate: /, [:latency, {timeout: 0}] => /timeout: /
    }.each do |(call, options), words|
      error = assert_raises(Godwit::ArgumentValueError, Godwit::ArgumentTypeError) do
        Perf.public_send(call, "tcp://127.0.0.1:9", **options)
      end
      assert_match words, error.message
    end
  end

  def command(req, **values)
    frames = Perf::Server.command(values.transform_keys(&:to_s))
    Perf::Server.values(req.send(frames).recv(timeout: PATIENCE))
  end

  test "a server refuses wrong commands and goes on" do
    req = open_socket(:REQ).connect(server)
    assert_match(/does not know the command "x"/, command(req, do: "x")["error"])
    assert_match(/no such measurement/, command(req, do: "result", id: 5)["error"])
    [nil, "a", -1, 1 << 40, 1 << 80].each do |size|
      assert command(req, do: "receive", size: size)["error"], size.inspect
    end
    ids = Array.new(16) { command(req, do: "receive", size: 1)["id"] }
    assert_equal 16, ids.compact.uniq.size
    assert_match(/busy/, command(req, do: "receive", size: 1)["error"])
    [["\0godwit-perf", "{"], ["\0godwit-perf", "[1]"], ["\0godwit-perf", "{\"do\":\"\xff\"}".b],
      ["\0godwit-perf"], %w[a b]].each do |frames|
      assert_equal frames, [*req.send(frames).recv(timeout: PATIENCE)]
    end
  end

  test "a mark of the end without a number is foreign" do
    req = open_socket(:REQ).connect(server)
    receiver = command(req, do: "receive", size: 1)
    push = open_socket(:PUSH).connect(receiver["endpoint"])
    [{"mark" => "start"}, {"mark" => "finish", "sent" => "x"}, {"mark" => "finish", "sent" => 0}]
      .each { |mark| push.send(Perf::Server.command(mark)) }
    answer = nil
    eventually { (answer = command(req, do: "result", id: receiver["id"]))["ended"].nil? }
    assert_equal [0, 0, 1], answer.values_at("received", "lost", "foreign")
  end

  test "a closed server ends its threads" do
    server = Perf::Server.new(HERE, context: context)
    thread = in_thread { server.run }
    command(open_socket(:REQ).connect(server.last_endpoint), do: "receive", size: 1)
    assert_match(/Server tcp:/, server.inspect)
    assert_nil server.close
    ended(thread)
    assert_predicate server, :closed?
    assert_match(/\(closed\)/, server.inspect)
    eventually { live_threads.none? { |one| one.name.to_s.start_with?("godwit perf") } }
  end

  test "late replies of the warm-up do not count in the measurement" do
    replies = open_socket(:ROUTER).bind(HERE)
    in_thread do
      first = Array.new(1_000) { replies.recv }
      first.take(5).each { |message| replies.send(message) }
      second = replies.recv
      first.drop(5).each { |message| replies.send(message) }
      replies.send(second)
    end
    found = load(replies.last_endpoint, rate: 10_000, count: 100, timeout: 2)
    assert_equal [1, 99], [found.intended.count, found.timeouts]
  end

  test "a send and the question after its time-out share the time-out" do
    pull, endpoint = receiver { {"ended" => true} }
    link = Perf.const_get(:Link).new(endpoint, PATIENCE, {context: context})
    link.define_singleton_method(:send_timeout) { 0.5 }
    waits = []
    link.define_singleton_method(:command) do |values, **options|
      waits << options[:timeout]
      super(values, **options)
    end
    assert_raises(Godwit::StateError) do
      Perf.const_get(:ThroughputMeasurement).new(link, 256 << 10, nil, 1, nil, false).run
    end
    assert_equal [nil, PATIENCE - 0.5], waits
    refute_predicate pull, :closed?
    assert_equal 2.5, Perf.const_get(:Link).new(endpoint, 5, {}).send_timeout
  end
end
