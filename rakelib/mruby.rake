# frozen_string_literal: true

desc "Build the mrbgem against the system's libmruby: tmp/mruby/VERSION/"
task :mruby do
  require_relative "support/mruby_build"
  puts MRubyBuild.new.build
rescue MRubyBuild::Failure => error
  abort "rake mruby: #{error.message}"
end

namespace :mruby do
  run = lambda do |file, env, *arguments|
    command = [RbConfig.ruby, "-Ilib", "-Itest", "test/mruby/#{file}_test.rb", *arguments]
    sh(env, *command, verbose: false) { |ok, _| ok || abort("rake mruby:long: #{file} failed") }
  end

  desc "The mrbgem in Debian's mruby with AddressSanitizer and a collection at each allocation; " \
    "ten million messages with flat memory (several minutes)"
  task long: :compile do
    require_relative "support/mruby_source"
    puts "building Debian's mruby with the mrbgem"
    run.call("scenarios", {"GODWIT_MRUBY_INTERPRETER" => MRubySource.new.build})
    run.call("memory", {"GODWIT_MRUBY_MESSAGES" => "10000000"}, "-n", "/messages/")
  rescue MRubyBuild::Failure, Godwit::DebianSource::Failure => error
    abort "rake mruby:long: #{error.message}"
  end
end
