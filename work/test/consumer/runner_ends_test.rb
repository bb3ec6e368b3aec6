# frozen_string_literal: true

require "support/running_consumers"
require "support/wait_endings"

# Each way to end a wait also ends Runner#run. No thread, member or FIFO remains.
class WorkRunnerEndsTest < Godwit::WorkCase
  include RunningConsumers
  include Godwit::TestSupport::WaitEndings

  # Timeout.timeout is excluded: its Thread#raise might come before the Runner waits.
  Godwit::TestSupport::WaitEndings.test(self, ["Runner run"], ["Runner run"], but: /fiber|Timeout/)

  # The teardown stops no runner: each test has ended its own runner.
  def stop_all = nil

  private

  def prepare(name)
    @before = Thread.list
    runner = Work::Runner.new([consumer { nil }], client: client, workers: 1)
    coordinator = lambda do |_|
      runner.instance_variable_get(:@loop) if runner.started? && engine.members.any?
    end
    Call.new(name, client, runner, ->(one) { one.run }, coordinator)
  end

  def assert_ended(call, thread, _) = super(call, thread, Work::ClosedError)

  # A second run is refused, since a runner runs once.
  def assert_waits_again(call)
    assert_raises(Godwit::StateError) { call.run }
    assert_empty engine.members
    assert_empty Dir.glob("#{path}.members/*")
    eventually { (Thread.list - @before - @threads.to_a).empty? }
  end
end
