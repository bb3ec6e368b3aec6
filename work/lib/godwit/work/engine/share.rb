# frozen_string_literal: true

module Godwit
  module Work
    # A member's part of the partitions: new claims, those to give up, the generations of those that
    # it had before and still has, and those that an operator has paused.
    # @private
    Share = Struct.new(:claims, :surplus, :kept, :paused)
  end
end
