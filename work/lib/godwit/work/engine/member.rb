# frozen_string_literal: true

module Godwit
  module Work
    # A member of a group: one consumer class in one process, the name of the process's FIFO, and
    # the state of the file at the member's last rebalance.
    # @private
    Member = Struct.new(:id, :group, :topic, :fifo, :state)
  end
end
