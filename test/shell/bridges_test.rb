# frozen_string_literal: true

require "test_helper"
require "logger"
require "stringio"

# Rows that `into` sends to sockets and loggers, and sockets whose messages are a command's input.
class ShellBridgesTest < Godwit::TestCase
  Shell = Godwit::Shell

  def pulled(pull, count) = count.times.map { pull.recv(timeout: 5) }

  # @return [Socket] a PUSH without a peer
  def lonely(**options) = open_socket(:PUSH, **options).bind(endpoint_for(:tcp))

  test "each row is a message" do
    each_transport do |transport|
      pull, push = connected_pair(:PULL, :PUSH, transport: transport)
      status = Shell.rows("printf", 'a\nb\n\nlast').into(push)
      assert_equal ["a", "b", "", "last"], pulled(pull, 4)
      assert_equal [true, 4], [status.success?, status.rows]
    end
  end

  test "the high-water mark holds the command back" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc, send_hwm: 10, recv_hwm: 10)
    # Long rows: a slow JRuby would take seconds for the 32,000 short rows of the first read, before
    # it waits for the socket.
    stream = Shell.rows("yes", row = "x" * 1000)
    thread = in_thread { stream.into(push) }
    eventually { !push.writable? } # before that, `stream` may still be waiting for rows
    until_waiting(push)
    assert_equal row, pull.recv
    stream.close
    push.close
    assert_raises(Godwit::ClosedError) { thread.value }
    assert_predicate stream.status, :stopped?
    assert_operator stream.status.bytes, :<, 1_000_000
  end

  test "count: stops the command" do
    pull, push = connected_pair(:PULL, :PUSH)
    status = Shell.rows("yes").into(push, count: 3)
    assert_equal [true, 3], [status.stopped?, status.rows] # the last read returned more than 3 rows
    assert_equal %w[y y y], pulled(pull, 3)
    assert_nil pull.recv(timeout: 0.05, exception: false)
    assert_raises(ArgumentError) { Shell.rows("yes").into(push, count: 0) }
  end

  test "the limits of the command end the wait for a blocked socket" do
    %i[timeout idle].each do |option|
      status = Shell.rows("yes", option => 0.05).into(lonely)
      assert_equal [option, true, 0], [status.timed_out, status.failed?, status.rows]
    end
    push = Shell::Push.new(socket = open_socket(:PUSH))
    socket.bind(endpoint_for(:tcp))
    stream = Shell.rows("yes", timeout: 0.05)
    # Without a peer `run` cannot send the messages that end the stream.
    assert_raises(Godwit::TimeoutError) { push.run(stream, timeout: 1) }
    assert_equal [:timeout, true], [stream.status.timed_out, socket.closed?]
  end

  test "the socket's send_timeout ends the wait, and timeout: has precedence" do
    push = lonely(send_timeout: 0.01)
    [[push], [lonely, {timeout: 0.01}]].each do |socket, options|
      stream = Shell.rows("yes", timeout: 60)
      assert_raises(Godwit::TimeoutError) { stream.into(socket, **options.to_h) }
      assert_predicate stream.status, :stopped?
    end
    assert_equal :timeout, Shell.rows("yes", timeout: 0.05).into(push, timeout: nil).timed_out
  end

  test "a target that is neither socket nor logger is refused, and nothing starts" do
    stream = Shell.rows("touch", "#{scratch_dir}/there")
    error = assert_raises(Godwit::Error) { stream.into([]) }
    assert_kind_of TypeError, error
    assert_includes error.message, "a socket or a logger"
    refute_path_exists "#{scratch_dir}/there"
  end

  test "a logger gets stdout as INFO and stderr as WARN, with the command and its pid; with err: " \
    "stdout alone" do
    text = StringIO.new
    form = ->(level, _time, name, message) { "#{level} #{name} #{message}\n" }
    logger = Logger.new(text, formatter: form)
    status = Shell.rows("echo $$; echo careful >&2; exit 4", shell: true).into(logger)
    assert_equal 4, status.exitstatus
    first, second = text.string.lines.sort
    assert_match(/\AINFO sh\[(\d+)\] \1\n\z/, first)
    assert_match(/\AWARN sh\[\d+\] careful\n\z/, second)
    Shell.rows("echo a; echo b >&2", shell: true, err: :discard).into(logger)
    assert_equal 3, text.string.lines.size
  end

  test "Godwit's own logger: level, text and tag reach the reader" do
    endpoint = endpoint_for(:ipc)
    reader = Godwit::Logger::Reader.new(endpoint)
    log = Godwit::Logger.new(endpoint, progname: "shop")
    assert_predicate Shell.rows("echo $$; echo careful >&2", shell: true).into(log), :success?
    records = Array.new(2) { reader.recv(timeout: 5) }.sort_by(&:level)
    assert_equal [Logger::INFO, Logger::WARN], records.map(&:level)
    assert_equal "careful", records.last.text
    assert_equal [["sh[#{records.first.text}]"]], records.map(&:tags).uniq
  ensure
    log&.close
    reader&.close
  end

  test "a socket's messages are lines of a command's input" do
    pub, sub = connected_pair(:PUB, :SUB, connect_options: {subscribe: ""})
    pub.wait_connected(timeout: 5)
    ["plain", ["topic", "body"], "with newline\n", "nul\0"].each { |message| pub << message }
    text = "plain\ntopic\tbody\nwith newline\nnul\0"
    assert_equal text,
      Shell.rows("head", "-c", text.bytesize.to_s, input: sub, sep: :chunk).to_a.join
  end

  test "a command that ends no longer waits for the socket" do
    _, pull = connected_pair(:PUSH, :PULL)
    assert_predicate Shell.run("true", input: pull), :success?
    refute_predicate pull, :closed?
  end

  test "each row has the whole send_timeout" do
    push = lonely(send_timeout: 60)
    waits = []
    # The PUSH accepts a row only with a time-out that is not 0.
    push.define_singleton_method(:send_many) do |rows, timeout:|
      super(rows, timeout: timeout) if timeout == 0 # raises, since the PUSH has no peer
      waits << [rows.size, timeout]
      rows.size
    end
    assert_equal 3, Shell.rows("seq", "3").into(push).rows
    assert_equal [[1, 60]] * 3, waits
  end

  test "rows that the socket has taken count, those in the way do not" do
    _, push = connected_pair(:PULL, :PUSH, transport: :inproc, send_hwm: 10, recv_hwm: 10)
    status = Shell.rows("yes", idle: 1).into(push) # `yes` prints within 1 s, on any machine
    assert_equal [:idle, 20], [status.timed_out, status.rows]
  end
end
