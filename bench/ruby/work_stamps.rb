# frozen_string_literal: true

# work_stamps.rb PATH COUNT RATE: writes COUNT records with Godwit, RATE a second, whose values say
# when they were due.
require_relative "work_common"
require "godwit/work"

client = Godwit::Work.connect("sqlite:#{ARGV[0]}")
WorkCommon.at_rate(Integer(ARGV[1]), Integer(ARGV[2])) { |value| client.produce("bench", value) }
Common.say(sent: ARGV[1])
