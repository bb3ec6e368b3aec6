# frozen_string_literal: true

# What RedisServer, BackEnd and EdgeServer share: the server runs in a child process, @child.
module ServerChild
  # Ends the server as `kill -9` does.
  def kill
    @child.signal(:KILL) unless @child.finished?
    @child.finish
  end

  def freeze_process = @child.signal(:STOP)
  def thaw_process = @child.signal(:CONT)
end
