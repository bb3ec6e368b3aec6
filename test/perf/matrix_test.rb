# frozen_string_literal: true

require "test_helper"
require "godwit/perf"

# Godwit::Perf.matrix, and agents: servers that measure for it.
class PerfMatrixTest < Godwit::TestCase
  Perf = Godwit::Perf
  HERE = "tcp://127.0.0.1:*"
  PATIENCE = 60 # seconds that a wait may take

  # @return [String] the endpoint of a new agent
  def agent(context: self.context, **options)
    server = own(Perf::Server.new(HERE, agent: true, context: context, **options))
    in_thread { server.run }
    server.last_endpoint
  end

  def matrix(hosts, count: 20, timeout: PATIENCE, **options, &block)
    Perf.matrix(hosts, count: count, timeout: timeout, context: context, **options, &block)
  end

  # @return [Hash] the answer of an agent
  def command(endpoint, **values)
    req = open_socket(:REQ).connect(endpoint)
    Perf::Server.values(req.send(Perf::Server.command(values)).recv(timeout: PATIENCE))
  end

  def assert_refused(says, &block)
    assert_match says, assert_raises(Godwit::ArgumentValueError, &block).message
  end

  def assert_whole(names, rows)
    assert_equal names.product(names), rows.map { |row| [row.source, row.dest] }
    assert_equal [nil], rows.map(&:error).uniq
  end

  test "a server without agent: true takes no commands of a matrix" do
    server = own(Perf::Server.new(HERE, context: context))
    in_thread { server.run }
    row = matrix({"a" => server.last_endpoint}).first
    assert_match(/start it with --agent/, row.error)
  end

  test "an agent does one run at a time, and echoes meanwhile" do
    one = agent
    port = command(one, do: "begin", run: "mine")["port"]
    echo = "tcp://127.0.0.1:#{port}"
    assert_equal "hi", open_socket(:REQ).connect(echo).send("hi").recv(timeout: PATIENCE)
    assert_equal port, command(one, do: "begin", run: "mine")["port"]
    assert_match(/is busy: it does one run at a time/, matrix({"a" => one}).first.error)
    assert_empty command(one, do: "end", run: "mine")
    rows = matrix({"a" => one})
    assert_whole %w[a], rows
    assert_equal "localhost", rows.first.connection
    assert_match(/no such run/, command(one, do: "measure", run: "mine")["error"])
  end

  test "a row that takes too long ends, even while it waits for a reply; a run without commands " \
    "ends too, and the echo is open only during a run" do
    agent = Perf.const_get(:Agent).new(HERE, {context: context}, nil)
    silent = open_socket(:REP).bind(HERE)
    assert_nil agent.remaining_time
    agent.answer("do" => "begin", "run" => "mine")
    # The test checks by `closed?` that the echo ends, since libzmq frees the echo's port later.
    echo = agent.instance_variable_get(:@echo)
    refute_predicate echo, :closed?
    assert_operator agent.remaining_time, :>, 60, "a row may take as long"
    agent.answer("do" => "measure", "run" => "mine", "endpoint" => silent.last_endpoint,
      "size" => 1, "count" => 1, "timeout" => 1_000)
    silent.recv # the measurement waits for the reply
    assert_includes 1..60, agent.remaining_time
    assert_equal false, agent.answer("do" => "measured", "run" => "mine")["ended"]
    agent.expire
    assert_match(/took more than 60 s/, agent.answer("do" => "measured", "run" => "mine")["error"])
    assert_operator agent.remaining_time, :>, 60, "the run goes on"
    later = Godwit.const_get(:Timeout).now + 1_000
    Godwit.const_get(:Timeout).stub(:now, later) { agent.expire }
    assert_nil agent.remaining_time
    assert_predicate echo, :closed?
  ensure
    agent.close
  end

  # The values with which the fake agent of `answering` answers each command.
  ANSWER = {"port" => 1, "connection" => "x", "seconds" => 1, "connect_seconds" => 2, "warmup" => 4,
            "timeouts" => 3, "histogram" => Perf::Histogram.new.record(1).to_h}.freeze

  # @yield [values] the values of each command
  # @return [String] the endpoint of an agent with this answer
  def answering(answer)
    rep = open_socket(:REP).bind(HERE)
    in_thread do
      rep.serve do |message|
        yield Perf::Server.values(message) if block_given?
        Perf::Server.command(answer)
      end
    end
    rep.last_endpoint
  end

  test "each host measures the link to each, and its row has the figures" do
    asked = []
    hosts = {"a" => 1, "b" => 2}.to_h do |name, port|
      endpoint = answering({**ANSWER, "port" => port, "connection" => "of #{name}"}) do |values|
        next unless values["do"] == "measure"
        asked << [name, values["endpoint"][/\d+\z/], *values.values_at("count", "size")]
      end
      [name, endpoint]
    end
    seen = []
    rows = matrix(hosts, size: 9) { |row| seen << row }
    assert_equal rows, seen
    assert_equal %w[a b].product(%w[1 2], [20], [9]), asked
    assert_equal [["a", "a", "of a"], ["a", "b", "of a"], ["b", "a", "of b"], ["b", "b", "of b"]],
      rows.map { |row| [row.source, row.dest, row.connection] }
    names = %i[seconds rate count size timeouts warmup connect_seconds error failed?]
    assert_equal [[1, 1, 1, 9, 3, 4, 2, nil, false, 1.0]],
      rows.map { |row| [*names.map { |name| row.public_send(name) }, row.histogram.max] }.uniq
    assert [rows, *rows, *rows.map(&:histogram)].all?(&:frozen?)
    assert_match(/MatrixRow a to a 9 B: p50 /, rows.first.inspect)
  end

  test "a malformed answer is a row with the reason" do
    [{"port" => "x"}, {"port" => 99_999}, {"connection" => 5}, {"connection" => "a\nb"},
      {"connection" => "a\u202eb"}, {"seconds" => nil}, {"seconds" => 0}, {"timeouts" => -5},
      {"warmup" => 1.5}, {"histogram" => {}}].each do |wrong|
      row = matrix({"a" => answering(ANSWER.merge(wrong))}).first
      assert_match(/malformed answer/, row.error, wrong)
      assert_nil row.dest
    end
  end

  test "an agent that never ends its measurement costs a row's time, whatever it claims" do
    answers = [{}, {"taken" => 1}].map do |more|
      count = 0
      rep = open_socket(:REP).bind(HERE)
      in_thread do
        rep.serve do
          Perf::Server.command({"ended" => false, "port" => 1,
                                **more.transform_values { count += 1 }})
        end
      end
      with_clock(Godwit::TestSupport::ManualClock.new(tick: 10.0)) do
        ended(in_thread { matrix({"a" => rep.last_endpoint}, timeout: 20) }).first
      end
    end
    answers.each do |row|
      assert_match(/\Atcp:\S+ answers, but the measurement had not ended after 80 s\z/, row.error)
      assert_nil row.dest, "the host takes no further part"
    end
  end

  test "an agent refuses sizes, counts and time-outs that are none" do
    one = agent
    command(one, do: "begin", run: "mine")
    good = {do: "measure", run: "mine", endpoint: one, size: 1, count: 1, timeout: 1}
    {size: [-1, 1 << 40], count: [0], timeout: ["x"]}.each do |name, values|
      values.each { |value| assert_match(/#{name}:/, command(one, **good, name => value)["error"]) }
    end
    assert_match(/no such measurement/, command(one, do: "measured", run: "mine")["error"])
  end

  test "with keys: clients of the directory may ask; the agents need no certificate" do
    skip "this libzmq has no CURVE" unless Godwit.has?(:curve)
    keys, me, stranger = Array.new(3) { Godwit::Curve.keypair }
    hosts = %w[a b].to_h do |name|
      there = own(Godwit::Context.new)
      auth = own(Godwit::Auth.new(context: there))
      auth.curve(keys: {"me" => me.public_key}, domain: "godwit")
      [name, agent(context: there, curve: keys, auth: "godwit", authenticator: auth)]
    end
    assert_whole %w[a b], matrix(hosts, curve: me, server_key: keys.public_key)
    rows = matrix(hosts, timeout: 1, curve: stranger, server_key: keys.public_key)
    assert_equal [["a", nil], ["b", nil]], rows.map { |row| [row.source, row.dest] }
    assert_refused(/authenticator:/) do
      Perf::Server.new(HERE, agent: true, context: context, curve: keys, auth: "godwit")
    end
  end

  test "wrong arguments" do
    one = {"a" => "tcp://127.0.0.1:9"}
    {[{}, {}] => /hosts/, ["tcp://127.0.0.1:1", {}] => /hosts/,
     [{"a" => "ipc:///tmp/x"}, {}] => /tcp endpoints with a port/, [one, {size: -1}] => /size:/,
     [one, {count: 0}] => /count:/, [one, {timeout: 0}] => /timeout:/}
      .each { |(hosts, options), says| assert_refused(says) { matrix(hosts, **options) } }
    keys = Godwit::Curve.keypair
    assert_refused(/server_key: is nil/) { matrix(one, curve: keys, server_key: nil) }
    assert_raises(Godwit::OptionError) { matrix(one, sever_key: "x") }
  end

  test "a host that failed in a run is free when the run has ended" do
    one = agent
    rep = open_socket(:REP).bind(HERE) # passes messages from `matrix` to the agent
    agent_side = open_socket(:REQ).connect(one)
    held = Thread::Queue.new
    in_thread do
      rep.serve do |message|
        answer = agent_side.request(message, timeout: PATIENCE)
        held.pop if Perf::Server.values(message)["do"] == "measure"
        answer
      end
    end
    row = matrix({"a" => rep.last_endpoint}, timeout: 0.2).first
    assert_match(/no answer from/, row.error)
    held.close
    eventually { matrix({"a" => one}).first.error.nil? }
  end
end
