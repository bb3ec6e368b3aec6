# frozen_string_literal: true

# What the servers of these tests have in common: a child process @child.
module ServerChild
  # As `kill -9`.
  def kill
    @child.signal(:KILL) unless @child.finished?
    @child.finish
  end

  def freeze_process = @child.signal(:STOP)
  def thaw_process = @child.signal(:CONT)
end
