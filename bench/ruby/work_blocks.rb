# frozen_string_literal: true

# work_blocks.rb URL COUNT TOPIC: reads COUNT records of partition 0 in the blocks that Godwit's
# extension makes, each value as a String.
require_relative "work_common"
require "godwit/work"

count = Integer(ARGV[1])
client = Godwit::Work.connect(ARGV[0])
topic = client.engine.topics.fetch(ARGV[2])
tally = WorkCommon::Tally.new(count) { exit!(0) }
offset = 0
loop do
  client.engine.read(topic, 0, offset, 1 << 20).each do |block|
    values = block.values
    block.count.times { |index| tally.touch(values[index]) }
    offset = block.finish
  end
end
