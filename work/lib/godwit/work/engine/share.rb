# frozen_string_literal: true

module Godwit
  module Work
    # A member's share of the partitions: newly claimed Positions, partitions to release, the
    # generation of each partition that it had before, and partitions that an operator has paused.
    # @private
    Share = Struct.new(:claims, :surplus, :kept, :paused)
  end
end
