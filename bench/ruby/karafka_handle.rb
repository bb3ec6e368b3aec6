# frozen_string_literal: true

# karafka_handle.rb ADDRESS COUNT raw|json GROUP: consumes COUNT records with Karafka, then ends.
require_relative "work_common"
require "karafka"

ADDRESS, COUNT, FORMAT, GROUP = ARGV[0], Integer(ARGV[1]), ARGV[2], ARGV[3]
TALLY = WorkCommon::Tally.new(COUNT) { exit!(0) }

# The consumer.
class Handles < Karafka::BaseConsumer
  if FORMAT == "json"
    def consume = messages.each { |message| TALLY.touch_object(message.payload) }
  else
    def consume = messages.each { |message| TALLY.touch(message.raw_payload) }
  end
end

# The settings are Karafka's, apart from where it begins.
class Application < Karafka::App
  setup do |config|
    config.kafka = {"bootstrap.servers": ADDRESS, "auto.offset.reset": "earliest"}
    config.client_id = "bench"
    config.group_id = GROUP
    config.logger = Logger.new($stderr, level: Logger::WARN)
  end
  routes.draw { topic("bench-#{FORMAT}") { consumer Handles } }
end

Karafka::Server.run
