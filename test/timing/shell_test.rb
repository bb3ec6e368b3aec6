# frozen_string_literal: true

require "test_helper"
require "shell/shell_case"
require "support/timed"

# How soon a command is stopped, and the cost of waiting for its rows.
class ShellTimingTest < ShellCase
  include Godwit::TestSupport::Timed

  test "an interrupt ends the grace at once" do
    took = median do
      stream = sh(STUBBORN, grace: 2)
      poller = nil
      grace = -> { stream.each { (poller = poller_of(stream)) && break } }
      after(Wait.new(grace, -> { eventually { poller&.closed? } })) { |thread| thread.kill }
    end
    assert_operator took, :<, PROMISED
  end

  test "a command that ignores TERM is killed as the grace ends" do
    stream = sh(STUBBORN, grace: 0.3)
    assert_operator seconds { stream.first }, :<, 0.3 + 0.2
  end

  test "timeout: and idle: stop a command then" do
    %i[timeout idle].each do |option|
      stop = -> { assert_equal option, Shell.rows("sleep", "1000", option => 0.2) {}.timed_out }
      assert_operator median { seconds(&stop) }, :<, 0.2 + PROMISED, option
    end
  end

  test "a command that is ended at its tenth row is gone 0.1 s after it" do
    took = median do
      enough = nil
      rows = sh("while :; do find /usr/share; done").lazy
      rows.map { |row| (enough = monotonic) && row }.first(10)
      monotonic - enough
    end
    assert_operator took, :<, PROMISED
  end
end
