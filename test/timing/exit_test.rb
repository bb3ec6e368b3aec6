# frozen_string_literal: true

require "test_helper"
require "native/shim/shim"

# A process ends as soon as linger allows (law 7).
class ExitTimingTest < Godwit::TestCase
  SLACK = 1.0 # seconds

  test "linger of 0 ends at once" do
    assert_ends_within(0, unsent("linger: 0"))
  end

  test "a peer that never comes holds the end for linger, not longer" do
    assert_ends_within(1, unsent("linger: 1"))
  end

  test "the longest linger of several contexts and closed sockets counts, not their sum" do
    assert_ends_within(1.5, <<~RUBY)
      3.times do |number|
        context = Godwit::Context.new(linger: 0.5 + number * 0.5)
        push = Godwit::PUSH.connect("tcp://127.0.0.1:1", context: context)
        push.send("x")
        push.close if number == 2
      end
    RUBY
  end

  test "a host name that is being resolved does not hold the end beyond linger and a second" do
    {"" => 1, "push.close" => 1, "context.close" => 2}.each do |ending, waits| # close waits, and then the process once more
      assert_ends_within(waits * (0.2 + 1), <<~RUBY, env: Godwit::TestSupport::Shim.windows(resolve: 20 * 1_000_000))
        context = Godwit::Context.new(linger: 0.2)
        push = Godwit::PUSH.connect("tcp://no.such.host.invalid:1", context: context)
        push.send("x")
        at_end
        #{ending}
      RUBY
    end
  end

  test "Ctrl-C ends a program whose message nobody takes at once, without linger" do
    child = start_child("examples/guide/pipeline/ventilator.rb", ["tcp://127.0.0.1:*", "tcp://127.0.0.1:1"]).wait_for(/^ready at/)
    assert_operator seconds { assert_child(child.signal(:INT).finish) }, :<, 1 + SLACK
  end

  private

  def unsent(options) = "push = Godwit::PUSH.connect('tcp://127.0.0.1:1', #{options})\npush.send('never delivered')"

  # From the end of the program to the end of the process.
  def assert_ends_within(seconds, source, **options)
    result = assert_child(run_child("require 'godwit'\ndef at_end = puts(now)\n#{source}\nat_end", **options))
    assert_operator monotonic - result.stdout.to_f, :<, seconds + SLACK # since the first line of it
  end
end
