# frozen_string_literal: true

namespace :logger do
  desc "Durable writers and their receiver, killed at random for GODWIT_LOGGER_KILL_SECONDS " \
    "(60): each record once, in order"
  task kills: :compile do
    env = {"GODWIT_LOGGER_KILL_SECONDS" => ENV.fetch("GODWIT_LOGGER_KILL_SECONDS", "60")}
    sh env, RbConfig.ruby, "-Ilib", "-Itest", "test/logger/kill_test.rb", verbose: false
  end
end
