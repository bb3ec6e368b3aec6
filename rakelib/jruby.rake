# frozen_string_literal: true

require_relative "support/jruby"

desc "Run a Ruby file on JRuby, such as a test: rake 'jruby[test/conformance/patterns_test.rb]'"
task :jruby, [:file] do |_, arguments|
  abort Godwit::JRuby.missing if Godwit::JRuby.missing
  exec(Godwit::JRuby.testing, *Godwit::JRuby.command("-Ilib", "-Itest", arguments.fetch(:file)))
end

namespace :jruby do
  desc "All of the logger's tests on JRuby, a file at a time (ten minutes; bin/test runs some of " \
    "them)"
  task :logger do
    abort Godwit::JRuby.missing if Godwit::JRuby.missing
    broken = Dir["test/logger/*_test.rb"].sort.reject do |file|
      system(
        Godwit::JRuby.testing,
        *Godwit::JRuby.command("-Ilib", "-Itest", file, java: Godwit::JRuby.short)
      )
    end
    abort "failed: #{broken.join(" ")}" if broken.any?
  end
end
