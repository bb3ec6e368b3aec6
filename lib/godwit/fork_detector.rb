# frozen_string_literal: true

require_relative "weak_set"

module Godwit
  # Counts forks. If the count differs from the one that an object stored, this is a forked child.
  module ForkDetector
    COUNT = [0] # standard:disable Style/MutableConstant -- read without a method call
    OF_PARENT = WeakSet.new # IOs of the parent, which a forked child closes
    # Objects whose `forget_parent` a forked child calls.
    PER_PROCESS = WeakSet.new
    BLOCKS = [] # standard:disable Style/MutableConstant -- those of Godwit.after_fork

    # Prepended to Process, so that the child counts the fork.
    module Hook
      # Ruby calls this method for each fork.
      def _fork = super.tap { |pid| ForkDetector.count if pid.zero? }

      # Process.daemon forks without a call of `_fork`.
      def daemon(...) = super.tap { ForkDetector.count }
    end

    def self.count
      COUNT[0] += 1
      OF_PARENT.to_a.each { |io| io.close unless io.closed? }
      PER_PROCESS.to_a.each(&:forget_parent)
      BLOCKS.dup.each { |block| run(block) }
    end

    # An error of the block must not propagate out of `fork`: the child would run the parent's code.
    def self.run(block)
      block.call
    rescue ScriptError, StandardError => error
      Runtime.report("Godwit.after_fork: a block raised:", error)
    end
    private_class_method :run
    Process.singleton_class.prepend(Hook) if Process.respond_to?(:_fork)
  end
  private_constant :ForkDetector
end
