# frozen_string_literal: true

module Godwit
  module Work
    # A member's share of the partitions: Positions that it has just claimed, partitions to release,
    # the generation of each partition that it had before, and partitions that are paused.
    # @private
    Share = Struct.new(:claims, :surplus, :kept, :paused)
  end
end
