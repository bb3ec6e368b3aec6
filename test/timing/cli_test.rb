# frozen_string_literal: true

require "test_helper"
require "logger/made_records"
require "godwit/cli"
require "support/forked_command"
require "support/timed"

# How soon `godwit log` and the commands for sockets end, and how often they print.
class CLITimingTest < Godwit::TestCase
  include Godwit::TestSupport::Timed
  include MadeRecords

  COMMAND = [*GODWIT, "log"].freeze

  def log(*arguments)
    start_command(["sh", "-c", 'exec "$@" 2>&1', "-", *COMMAND, *arguments.map(&:to_s)])
  end

  test "SIGTERM and Ctrl-C end serve within a second, though writers go on" do
    %i[TERM INT].each do |signal|
      file = "#{scratch_dir}/#{signal}.log"
      child = log("serve", "--in", "tcp://127.0.0.1:*", "--out", "tcp://127.0.0.1:*",
        "--file", file).wait_for(/^godwit: in .*\n/)
      push = open_socket(:PUSH).connect(child.stdout[/^godwit: in (\S+?),? /, 1])
      # Sends until the end of the test closes the socket.
      in_thread { (1..).each { |number| push.send(frames(number)) } }
      eventually { File.size?(file) }
      assert_operator seconds { child.signal(signal).finish }, :<, 1
      assert_match(/^received /, child.finish.stdout)
    end
  end

  test "tail --stats prints each second" do
    endpoint = endpoint_for(:ipc_file)
    child = log("tail", endpoint, "--bind", "--stats")
    open_socket(:PUSH).connect(endpoint).send(frames(1))
    count = child.wait_for(/^received 1 .*\n/).stdout.scan(/^received /).size
    assert_includes 1.5..4.5, seconds { child.wait_for(/(^received .*\n){#{count + 3}}/) }
    child.signal(:INT).finish
  end

  test "SIGTERM and Ctrl-C end a socket command within a second: unsent messages, a full output" do
    %i[TERM INT].each_with_index do |signal, index|
      [%w[push -D x -c], %w[req -D x -c], %w[push -D x -b], %w[pull -b]].each do |words|
        endpoint = "tcp://#{own_host}:#{7396 - index}"
        command = Godwit::TestSupport::ForkedCommand.new(*words, endpoint)
        if words.first == "pull"
          push = open_socket(:PUSH).connect(endpoint)
          3.times { push.send("x" * 100_000) }
          command.wait_for("x").ignore_output
        else
          command.wait_for("waiting", in_errors: true)
        end
        assert_operator seconds { command.signal(signal).finish }, :<, 1, words.join(" ")
      end
    end
  end
end
