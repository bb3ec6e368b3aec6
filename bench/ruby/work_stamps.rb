# frozen_string_literal: true

# work_stamps.rb PLACE COUNT RATE [TOPIC]: writes COUNT records with Godwit, RATE a second, whose
# values say when they were due.
require_relative "work_common"
require "godwit/work"

client = Godwit::Work.connect(WorkCommon.url(ARGV[0]))
topic = ARGV[3] || "bench"
WorkCommon.at_rate(Integer(ARGV[1]), Integer(ARGV[2])) { |value| client.produce(topic, value) }
Common.say(sent: ARGV[1])
