# frozen_string_literal: true

require "test_helper"
require "godwit/cli"

# How errors in a command become an exit status.
class CLICommandTest < Godwit::TestCase
  # A command that raises its argument.
  class Raising < Godwit::CLI::Command
    summary "Raises."
    usage "raising"

    class << self
      attr_accessor :error
    end

    private

    def call(_arguments)
      raise self.class.error
    end
  end

  def status_of(error)
    Raising.error = error
    status = nil
    _, @message = capture_io do
      Godwit::CLI.stub(:command, Raising) { status = Godwit::CLI.run(["raising"]) }
    end
    status
  end

  def test_every_status_has_a_meaning
    assert_equal Godwit::CLI::EXIT.keys, Godwit::CLI::EXIT_MEANINGS.keys
  end

  def test_errors_of_the_library_are_one_line_and_status_1
    assert_equal 1,
      status_of(
        Godwit::Errors.build(Errno::EADDRINUSE::Errno, :bind, "tcp://127.0.0.1:1", nil)
      )
    assert_match(/\Agodwit: bind tcp:.*\n\z/, @message)
  end

  def test_a_timeout_is_124
    assert_equal 124, status_of(Godwit::TimeoutError.new)
  end

  def test_an_interrupt_is_130_without_a_word
    assert_equal 130, status_of(Interrupt.new)
    assert_empty @message
  end

  def test_a_bug_keeps_its_backtrace
    assert_raises(ZeroDivisionError) { status_of(ZeroDivisionError.new) }
  end
end
