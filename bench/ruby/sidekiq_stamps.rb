# frozen_string_literal: true

# sidekiq_stamps.rb URL COUNT RATE: as work_stamps.rb, with Sidekiq.
require_relative "work_common"
require "sidekiq"

# Only its name matters here.
class Handles
  include Sidekiq::Job
end

Sidekiq.configure_client do |config|
  config.redis = {url: ARGV[0]}
  config.logger.level = Logger::WARN
end
WorkCommon.at_rate(Integer(ARGV[1]), Integer(ARGV[2])) { |value| Handles.perform_async(value) }
Common.say(sent: ARGV[1])
