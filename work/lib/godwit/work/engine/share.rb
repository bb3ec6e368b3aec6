# frozen_string_literal: true

module Godwit
  module Work
    # What a member has: new claims, the partitions to give up, the generations of the partitions
    # that it had before and has still, and the partitions that an operator has paused.
    # @private
    Share = Struct.new(:claims, :surplus, :kept, :paused)
  end
end
