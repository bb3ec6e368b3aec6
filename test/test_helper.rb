# frozen_string_literal: true

# Each test file requires this file. The gems of the bundle are for CRuby; JRuby brings its own.
# A process without RubyGems (TESTS in support/child.rb) gets the gems' folders as arguments.
unless RUBY_ENGINE == "jruby" || !defined?(Gem)
  ENV["BUNDLE_GEMFILE"] ||= File.expand_path("../Gemfile", __dir__)
  require "bundler/setup"
end
$VERBOSE = true

require_relative "support/warnings"
require "minitest"
require "minitest/mock"
require "godwit"
require_relative "support/types" if ENV["GODWIT_TEST_TYPES"]
require_relative "support/report"
require_relative "support/gc_levels"
require_relative "support/watchdog"
require_relative "support/test_case"

Minitest.autorun
