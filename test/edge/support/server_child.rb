# frozen_string_literal: true

require "socket"

# What the servers of these tests have in common: a child process @child, most of them on @port.
module ServerChild
  # As `kill -9`.
  def kill
    @child.signal(:KILL) unless @child.finished?
    @child.finish
  end

  def freeze_process = @child.signal(:STOP)
  def thaw_process = @child.signal(:CONT)

  private

  def accepts?
    TCPSocket.new("127.0.0.1", @port).close
    true
  rescue Errno::ECONNREFUSED
    false
  end
end
