# frozen_string_literal: true

require "test_helper"
require "support/network"
require "godwit/cli"
require "support/forked_command"

# `godwit beacon`, in a network namespace.
class CLIBeaconTest < NetworkCase
  @port = 9500
  class << self
    def next_port = @port += 1
  end

  def port = @port ||= CLIBeaconTest.next_port

  def beacon(*arguments) = run_line("beacon", *arguments)

  test "listen prints publish's payload, on another machine, with the address" do
    publisher = Godwit::TestSupport::ForkedCommand.new(
      *%w[beacon publish], port, *%w[--payload work\ 5555 --interval 0.02]
    )
    listener = there(
      *GODWIT, *%w[beacon listen], port.to_s, *%w[--prefix work --count 2 --timeout 60]
    )
    result = assert_child listener.finish
    assert_equal ["#{Network::HERE}\twork 5555\n" * 2, ""], [result.stdout, result.stderr]
    publisher.signal(:INT)
    assert_equal 130, publisher.finish.status.exitstatus
  end

  test "publish ends after --count, and either after --timeout with 124" do
    assert_equal [0, "", ""],
      beacon("publish", port, "--payload", "x", "--interval", 0.01, "--count", 3)
    [%w[listen], %w[publish --payload x]].each do |action, *rest|
      assert_fails(124, /\A.*\n\z/, "beacon", action, port, "--timeout", 0.05, *rest)
    end
  end

  test "a payload that is not printable is shown in quotes" do
    ["a\tb\n", "\xff\0", "gr\u00fcn \u2713"].each do |payload|
      Godwit::Beacon.new(port, interval: 0.02).publish(payload).then do |own|
        _, out, = beacon("listen", port, "--count", 1, "--timeout", 20)
        shown = out.force_encoding("UTF-8").chomp.split("\t", 2).last
        assert_equal payload.b, (shown.start_with?('"') ? shown.undump : shown).b
        assert_equal payload.start_with?("gr"), !shown.start_with?('"')
      ensure
        own.close
      end
    end
  end

  test "a payload or option that cannot be broadcast is reported" do
    # Until the command's time-out of 1 s the publisher's thread tries to broadcast.
    assert_fails(124, /\d+ could not be broadcast; the last: Network is unreachable/, "beacon",
      "publish", port, "--payload", "x", "--interface", "*", "--timeout", 1)
    assert_fails(1, "no interface \"nosuch0\" can broadcast", "beacon", "listen", port,
      "--interface", "nosuch0")
  end

  test "a wrong command line is reported" do
    assert_usage_errors("beacon",
      [] => "beacon publish PORT", ["shout", 9] => "not \"shout\"", ["listen"] => "which UDP port",
      ["listen", "http"] => "\"http\" is no port",
      ["publish", 9] => "needs --payload", ["listen", 9, "--payload", "x"] => "option: --payload",
      ["publish", 9, "--payload", "x", "--prefix", "y"] => "option: --prefix",
      ["listen", 9, "--count", 0] => "1 or more", ["listen", 9, "--timeout", -1] => "0 or more",
      ["listen", 9, "x"] => "unexpected: x", ["publish", 99_999, "--payload", "x"] => "is no port",
      ["publish", 9, "--payload", "x" * 256] => "1 to 255 bytes",
      ["publish", 9, "--payload", "x", "--interval", 0] => "0.001 seconds or more")
  end
end
