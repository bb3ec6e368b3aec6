# frozen_string_literal: true

require "test_helper"

# Runs the programs of examples/guide, each in a separate process.
module GuidePrograms
  PATIENCE = 45 # seconds for one program, on a busy machine

  # @param name [String] file under examples/guide, without its ending
  # @return [Child]
  def example(name, *args, **options)
    @examples ||= []
    start_child("examples/guide/#{name}.rb", args, deadline: PATIENCE, **options).tap do |child|
      @examples << child
    end
  end

  # The endpoints that the program has bound, from its line "ready at …".
  # @return [Array<String>]
  def endpoints(child)
    child.wait_for(/^ready at .+\n/).stdout[/^ready at .+/].scan(%r{(?:tcp|ipc)://[^\s,]+})
  end

  # An endpoint that a restarted program binds again. It is ipc: another program could bind a tcp
  # port before the restart.
  def ipc(name) = "ipc://#{scratch_dir}/#{name}"

  # Waits for the end of the program, which must succeed and write nothing to standard error.
  # @return [Array<String>] the printed lines
  def lines(child)
    result = assert_child(child.finish)
    assert_empty result.stderr
    result.stdout.lines(chomp: true)
  end

  # Sends the program INT, as Ctrl-C does. The program must succeed.
  # @return [Array<String>] the printed lines
  def interrupt(child) = lines(child.signal(:INT))

  # Asserts that the lines are the correct replies for 0, 1, 2 and so on, without a gap.
  # @param form [String] format of a reply, before the reply's first comma
  def assert_squares(lines, form = "%d squared is %d")
    assert_equal Array.new(lines.size) { |number| format(form, number, number**2) },
      lines.map { |line| line[/\A[^,]+/] }
  end

  # Kills the program, which may be at any point of its work.
  def crash(child)
    result = child.signal(:KILL).finish
    assert_predicate result.status, :signaled?, result.to_s
  end
end

class GuideCase < Godwit::TestCase
  include GuidePrograms
end
