# frozen_string_literal: true

require "test_helper"

# The scripts of examples/rbczmq, verbatim, in separate processes.
class RbczmqExamplesTest < Godwit::TestCase
  ANYWHERE = "tcp://127.0.0.1:*"

  def script(file, *arguments)
    command = [
      *RUBY, "-W", "-Ilib", "-rgodwit/compat/rbczmq", "-r./test/support/child_prelude",
      "examples/rbczmq/#{file}.rb", *arguments
    ]
    start_command(command.map(&:to_s), deadline: 40)
  end

  def output(child)
    result = assert_child(child.finish)
    assert_empty result.stderr
    result.stdout
  end

  def ports(child, pattern)
    child.wait_for(pattern).stdout.scan(/port (\d+)/).map { |(port)| "tcp://127.0.0.1:#{port}" }
  end

  # Sends INT until the child has written the words: a signal that is handled before recv waits does
  # not end that wait.
  def interrupt(child, words)
    eventually(deadline: 20 + START) do
      child.signal(:INT)
      again = monotonic + 1
      nil while !child.stdout.include?(words) && child.__send__(:pump, again)
      child.stdout.include?(words)
    end
    output(child)
  end

  test "all examples use only rbczmq's names" do
    scripts = Dir["#{Godwit::TestSupport::Children::ROOT}/examples/rbczmq/*.rb"]
    assert_equal 9, scripts.size
    scripts.each do |file|
      assert_empty File.read(file).scan(/^require "(.*)"/).flatten - %w[zmq rbczmq benchmark]
      refute_match(/Godwit/, File.read(file))
    end
  end

  test "5,000 round trips" do
    server = script("rep_server", ANYWHERE)
    endpoint, = ports(server, /listening on port \d+\n/)
    client = output(script("req_client", endpoint))
    assert_match(
      /\A +user +system +total +real\n +\d+\.\d+ +\d+\.\d+ +\d+\.\d+ \( *\d+\.\d+\)\n\z/, client
    )
    assert_match(/^5000 requests answered$/, output(server))
  end

  test "a log writer loses none of 10,000 lines" do
    reader = script("log_reader", ANYWHERE)
    endpoint, = ports(reader, /reading on port \d+\n/)
    assert_empty output(script("log_writer", endpoint))
    seen = output(reader)
    assert_includes seen, "10000 lines, 10000 of them different, 100 errors\n"
    assert_includes seen, "first: writer INFO: line 0\n"
    assert_includes seen, "last: writer ERROR: line 9999 went wrong\n"
  end

  test "a broadcaster, a filtered reader, two writers" do
    broadcaster = script("log_broadcaster", ANYWHERE, ANYWHERE)
    from, to = ports(broadcaster, /from port \d+ to port \d+\n/)
    readers = [
      script("log_subscriber", to, "one ERROR"), script("log_subscriber", to, "two", "line 9999")
    ]
    open_socket(:PUSH).connect(from).then do |push| # sends until both readers have subscribed
      eventually(deadline: 20 + START) do
        ["one ERROR: sync", "two: sync"].each { |line| push.send(line) }
        readers.all? do |reader|
          reader.__send__(:pump, monotonic + 0.01).then { reader.stdout.include?("subscribed") }
        end
      end
    end
    %w[one two].each { |name| assert_empty output(script("log_writer", from, name)) }
    first, second = readers.map { |reader| output(reader).lines.last }
    assert_match(/\A\d+ lines, the last of them: one ERROR: line 9999 went wrong\n\z/, first)
    assert_operator first.to_i, :>=, 101
    assert_match(/\A\d+ lines, the last of them: two ERROR: line 9999 went wrong\n\z/, second)
    assert_operator second.to_i, :>=, 10_001
    assert_match(/^interrupted\n2\d{4} lines passed on$/, interrupt(broadcaster, "passed on\n"))
  end

  test "a loop with timers and two sockets" do
    seen = output(script("loop"))
    assert_equal [
      "10 numbers, 55 in all; the loop gave -1\n", "once\n", "tick 1\n", "tick 2\n", "tick 3\n"
    ], seen.lines.sort
    assert_equal "10 numbers, 55 in all; the loop gave -1\n", seen.lines.last
  end

  # Scripts that need no second process => their output.
  {
    "push_pull" => "1000 tasks by 5 threads, the results add up to 999000\n",
    "frames_and_messages" => <<~TEXT
      the broker has 1 frame of 8 bytes: question
      the request is gone
      the worker was asked: question (7175657374696F6E)
      the reply has 4 frames, equal after encode and decode: true
      the client got: answer to question
    TEXT
  }.each { |name, text| test(name) { assert_equal text, output(script(name)) } }
end
