# frozen_string_literal: true

namespace :stress do
  # A run of the stress tests in a separate process.
  run = lambda do |messages, seed, cores|
    prefix = cores ? ["taskset", "-c", cores] : []
    files = Dir["test/stress/**/*_test.rb"].sort.map { |file| "./#{file}" }
    load_all = "ARGV.shift(#{files.size}).each { |file| require file }"
    env = {"GODWIT_STRESS_MESSAGES" => messages.to_s, "GODWIT_STRESS_SEED" => seed.to_s}
    puts "== #{messages} messages, seed #{seed}#{", core #{cores}" if cores}"
    sh env,
      *prefix,
      RbConfig.ruby,
      "-Ilib",
      "-Itest",
      "-e",
      load_all,
      *files,
      "--seed",
      seed.to_s,
      verbose: false
  end

  desc "A million messages through the stress tests, on all cores and on one " \
    "(GODWIT_STRESS_MESSAGES, GODWIT_STRESS_SEED)"
  task long: :compile do
    messages = ENV.fetch("GODWIT_STRESS_MESSAGES", 1_000_000)
    seed = ENV.fetch("GODWIT_STRESS_SEED") { rand(1 << 16) }
    [nil, "0"].each { |cores| run.call(messages, seed, cores) }
  end

  task(:round) { |_, arguments| run.call(100_000, arguments.extras.first, arguments.extras[1]) }

  desc "Stress tests with a new seed each round, for GODWIT_STRESS_MINUTES (30); stops at the " \
    "first failure"
  task rounds: :compile do
    finish =
      Process.clock_gettime(Process::CLOCK_MONOTONIC) +
      60 * Float(ENV.fetch("GODWIT_STRESS_MINUTES", "30"))
    rounds = 0
    until Process.clock_gettime(Process::CLOCK_MONOTONIC) > finish
      rounds += 1
      Rake::Task["stress:round"].reenable
      Rake::Task["stress:round"].invoke(rand(1 << 16), (rounds.even? ? "0" : nil))
    end
    puts "#{rounds} rounds, no failure"
  end
end

desc "The long stress tests: a million messages"
task stress: "stress:long"
