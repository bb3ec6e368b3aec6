# frozen_string_literal: true

require_relative "fork_detector"

# The methods with which a program prepares for `fork` ({file:docs/forks.md}).
module Godwit
  # Runs the block in each child that this process forks from now on, before `fork` returns in the
  # child, and in the children of these children. Blocks run in the order in which they were given.
  # If a block raises, $stderr gets a report, and the next block runs.
  #
  # The block runs after `fork`, `IO.popen("-")` and `Process.daemon`, not after `spawn` and
  # `system`, and not when a C library forks by itself. JRuby has no fork.
  #
  #   Godwit.after_fork { $push = Godwit::PUSH.connect("tcp://127.0.0.1:5555") }
  #
  # **Threads**: any may call this method. The block runs on the child's only thread.
  # @yieldreturn [void]
  # @return [nil]
  # @raise [ArgumentValueError] without a block
  # @see LazySocket which a forked child opens again by itself
  def self.after_fork(&block)
    unless block
      raise Errors.of(ArgumentValueError, :after_fork, "it needs a block, which runs in each " \
        "forked child: Godwit.after_fork { … }")
    end
    ForkDetector::BLOCKS << block
    nil
  end

  # A socket that is opened at its first use, and again in a forked child.
  #
  #   PUSH = Godwit.socket { Godwit::PUSH.connect("tcp://127.0.0.1:5555") }
  #   PUSH << "from any process"
  #
  # @yieldreturn [Socket] a new socket
  # @return [LazySocket]
  # @raise [ArgumentValueError] without a block
  def self.socket(&block) = LazySocket.new(&block)
end
