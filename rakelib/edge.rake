# frozen_string_literal: true

desc "Build the nginx module: tmp/edge/NGINX-VERSION/"
task :edge do
  require_relative "support/edge_build"
  puts EdgeBuild.new.build
rescue EdgeBuild::Failure, Godwit::DebianSource::Failure => error
  abort "rake edge: #{error.message}"
end

namespace :edge do
  desc "The article's application at work, in under 40 s: its answer, rates, Redis killed"
  task(:demo) { ruby "examples/edge/demo.rb", verbose: false }

  desc "The long forms of test/edge, then its tests with AddressSanitizer in Debian's nginx " \
    "(ten minutes)"
  task long: :compile do
    require_relative "support/edge_build"
    run = lambda do |env|
      files = Dir["test/edge/*_test.rb"].sort.map { |path| "./#{path}" }
      program = "ARGV.shift(#{files.size}).each { |file| require file }"
      command = [RbConfig.ruby, "-Ilib", "-Itest", "-e", program, *files]
      sh(env, *command, verbose: false) { |ok, _| ok || abort("rake edge:long: failed") }
    end
    run.call("GODWIT_TEST_LONG" => "1")
    puts "building the module with AddressSanitizer"
    run.call(EdgeBuild.with_address_sanitizer)
  rescue EdgeBuild::Failure, Godwit::DebianSource::Failure => error
    abort "rake edge:long: #{error.message}"
  end
end
