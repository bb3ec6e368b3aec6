# frozen_string_literal: true

require "test_helper"
require "godwit/cli"
require "godwit/cli/family"

class CLIEndpointTest < Godwit::TestCase
  EXPANDED = {
    "tcp://:5555" => "tcp://127.0.0.1:5555", "tcp://:*" => "tcp://127.0.0.1:*",
    "ws://:8080/path" => "ws://127.0.0.1:8080/path", "tcp://*:5555" => "tcp://*:5555",
    "tcp://[::1]:5555" => "tcp://[::1]:5555", "tcp://host:5555" => "tcp://host:5555",
    "tcp://eth0:0;:5555" => "tcp://eth0:0;127.0.0.1:5555", "ipc://@name" => "ipc://@name",
    "ipc:///tmp/:5" => "ipc:///tmp/:5", "inproc://:1" => "inproc://:1"
  }.freeze

  EXPANDED.each do |typed, meant|
    test("#{typed} is #{meant}") { assert_equal meant, Godwit::CLI::Endpoint.expand(typed) }
  end

  test "an endpoint without a transport is refused with an example" do
    ["", "5555", ":5555", "host:5555", "://host:1", "tcp://"].each do |typed|
      error = assert_raises(Godwit::CLI::UsageError) { Godwit::CLI::Endpoint.expand(typed) }
      assert_includes error.message, "tcp://HOST:PORT"
    end
  end
end
