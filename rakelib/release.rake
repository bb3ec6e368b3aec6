# frozen_string_literal: true

namespace :release do
  desc "List the conditions of a release; fail while one is open"
  task :check do
    require_relative "support/release"
    version = Gem::Specification.load("godwit.gemspec").version.to_s
    release = Godwit::Release.new("pkg", version: version, commit: Godwit::Release.commit,
      changelog: File.read("CHANGELOG.md"))
    open = release.conditions.each { |text, met| puts "#{met ? "met " : "open"}  #{text}" }
      .values.count(false)
    abort "rake release:check: #{open} conditions are open" if open > 0
  end
end
