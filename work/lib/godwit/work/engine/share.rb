# frozen_string_literal: true

module Godwit
  module Work
    # A member's share of the partitions: newly claimed Positions, partitions to release, the
    # generation of each partition that the member had before, and partitions paused by an operator.
    # @private
    Share = Struct.new(:claims, :surplus, :kept, :paused)
  end
end
