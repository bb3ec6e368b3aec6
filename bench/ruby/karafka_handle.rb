# frozen_string_literal: true

# karafka_handle.rb ADDRESS COUNT raw|json GROUP [TOPICS [WORKERS]]: consumes COUNT records with
# Karafka, then ends. A comma separates topics.
require_relative "work_common"
require "karafka"

ADDRESS, COUNT, FORMAT, GROUP = ARGV[0], Integer(ARGV[1]), ARGV[2], ARGV[3]
TOPICS = (ARGV[4] || "bench-#{FORMAT}").split(",")
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
    config.concurrency = Integer(ARGV[5]) if ARGV[5]
    config.logger = Logger.new($stderr, level: Logger::WARN)
  end
  routes.draw { TOPICS.each { |name| topic(name) { consumer Handles } } }
end

Karafka::Server.run
