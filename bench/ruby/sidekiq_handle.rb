# frozen_string_literal: true

# sidekiq_handle.rb URL perform|delays COUNT raw|json: runs COUNT jobs with Sidekiq, then ends.
#   perform: of jobs that it pushes before; delays: as sidekiq_stamps.rb sends them
require_relative "work_common"
require "sidekiq"
require "sidekiq/embedded"

URL, HOW, COUNT, FORMAT = ARGV[0], ARGV[1], Integer(ARGV[2]), ARGV[3]
ENDED = Thread::Queue.new
TALLY = WorkCommon.tally(HOW, COUNT) { ENDED << true }

# What the jobs run.
class Handles
  include Sidekiq::Job

  if FORMAT == "json"
    def perform(object) = TALLY.touch_object(object)
  else
    def perform(value) = TALLY.touch(value)
  end
end

sidekiq = Sidekiq.configure_embed do |config|
  config.redis = {url: URL}
  config.concurrency = WorkCommon::WORKERS
  config.logger.level = Logger::WARN
end
if HOW == "perform"
  values = (FORMAT == "json") ? Array.new(1_000) { |one| [WorkCommon.object(one)] } :
    WorkCommon.values("text").zip
  (COUNT / 1_000).times { Handles.perform_bulk(values) }
end
sidekiq.run
Common.ready(URL) if HOW == "delays"
ENDED.pop
sidekiq.stop
