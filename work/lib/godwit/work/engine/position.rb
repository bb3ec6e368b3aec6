# frozen_string_literal: true

module Godwit
  module Work
    # A group's watermark and state in a partition, and the id of the partition's owner, or nil.
    # @private
    Position = Struct.new(:group, :topic, :partition, :member, :generation, :watermark, :state,
      :crashes, :noted, :paused, :crashed_at) do
      # @return [Array(String, String)] names of the group and the topic
      def reader = [group, topic.name]
    end
  end
end
