# frozen_string_literal: true

desc "Build the mrbgem against the system's libmruby: tmp/mruby/VERSION/"
task :mruby do
  require_relative "support/mruby_build"
  puts MRubyBuild.new.build
rescue MRubyBuild::Failure => error
  abort "rake mruby: #{error.message}"
end
