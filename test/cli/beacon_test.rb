# frozen_string_literal: true

require "test_helper"
require "support/network"
require "godwit/cli"

# `godwit beacon`, in a separate network.
class CLIBeaconTest < NetworkCase
  @port = 9500
  class << self
    def next_port = @port += 1
  end

  def port = @port ||= CLIBeaconTest.next_port

  COMMAND = [*GODWIT, "beacon"].freeze

  def beacon(*arguments, **options) = start_command([*COMMAND, *arguments.map(&:to_s)], **options)

  test "listen prints publish's payload, on another machine, with the address" do
    publisher = beacon("publish", port, "--payload", "work 5555", "--interval", 0.02)
    listener =
      there(*COMMAND, "listen", port.to_s, "--prefix", "work", "--count", "2", "--timeout", "20")
    result = assert_child listener.finish
    assert_equal ["#{Network::HERE}\twork 5555\n" * 2, ""], [result.stdout, result.stderr]
    publisher.signal(:INT)
    assert_equal 130, publisher.finish.status.exitstatus
  end

  test "publish ends after --count" do
    listener = beacon("listen", port, "--timeout", 20, "--count", 3)
    ready = beacon("publish", port, "--payload", "x", "--interval", 0.01)
    assert_equal "#{Network::HERE}\tx\n" * 3, assert_child(listener.finish).stdout
    ready.signal(:INT).finish
    result =
      assert_child beacon(
        "publish", port, "--payload", "x", "--interval", 0.01, "--count", 3
      ).finish
    assert_equal ["", ""], [result.stdout, result.stderr]
  end

  test "--timeout ends either with 124" do
    [%w[listen], %w[publish --payload x]].each do |action, *rest|
      result = beacon(action, port, "--timeout", 0.05, *rest).finish
      assert_equal 124, result.status.exitstatus
      assert_equal 1, result.stderr.lines.size
    end
  end

  test "a payload that is not printable is shown in quotes" do
    ["a\tb\n", "\xff\0", "gr\u00fcn \u2713"].each do |payload|
      Godwit::Beacon.new(port, interval: 0.02).publish(payload).then do |own|
        line =
          assert_child(beacon("listen", port, "--count", 1, "--timeout", 20).finish)
            .stdout
            .force_encoding("UTF-8")
            .chomp
        shown = line.split("\t", 2).last
        assert_equal payload.b, (shown.start_with?('"') ? shown.undump : shown).b
        assert_equal payload.start_with?("gr"), !shown.start_with?('"')
      ensure
        own.close
      end
    end
  end

  test "a payload or option that cannot be broadcast is reported" do
    # Time for its thread to try.
    result = beacon("publish", port, "--payload", "x", "--interface", "*", "--timeout", 1).finish
    assert_equal 124, result.status.exitstatus
    assert_match(/\d+ could not be broadcast; the last: Network is unreachable/, result.stderr)
    result = beacon("listen", port, "--interface", "nosuch0").finish
    assert_equal 1, result.status.exitstatus
    assert_includes result.stderr, "no interface \"nosuch0\" can broadcast"
  end

  test "a wrong command line is reported" do
    {[] => "beacon publish PORT", ["shout", 9] => "not \"shout\"", ["listen"] => "which UDP port",
     ["listen", "http"] => "\"http\" is no port",
     ["publish", 9] => "needs --payload", ["listen", 9, "--payload", "x"] => "option: --payload",
     ["publish", 9, "--payload", "x", "--prefix", "y"] => "option: --prefix",
     ["listen", 9, "--count", 0] => "1 or more", ["listen", 9, "--timeout", -1] => "0 or more",
     ["listen", 9, "x"] => "unexpected: x"}.each do |arguments, says|
      status, out, err = run_line("beacon", *arguments)
      assert_equal [2, ""], [status, out]
      assert_includes err, says
    end
    [["publish", 99_999, "--payload", "x"], ["publish", port, "--payload", "x" * 256],
      ["publish", port, "--payload", "x", "--interval", 0]].each do |arguments|
      assert_equal 2, run_line("beacon", *arguments).first
    end
  end
end
