# frozen_string_literal: true

require "fileutils"
require_relative "debian_source"

module Godwit
  # The tests of Ruby's own Logger, and the test framework that they are written for: out of
  # Debian's source package of this Ruby, as no gem has them. They are kept in the user's cache.
  module RubyLoggerTests
    FILES = %w[test/logger tool/lib tool/test/runner.rb].freeze
    RELEASE = RUBY_VERSION[/\A\d+\.\d+/]
    # Earlier versions of a release. A mirror may lack the version that apt's lists name.
    EARLIER = {"3.1" => %w[3.1.2-7+deb12u1 3.1.2-7]}.freeze

    module_function

    # Fetches them unless they are there.
    # @return [String] folder that holds {FILES}
    # @raise [DebianSource::Failure] no network; a Ruby that Debian has not packaged
    def fetch
      DebianSource.keep("ruby-logger-tests-#{RELEASE}") do |folder, result|
        source = fetch_source(folder)
        FILES.each do |name|
          FileUtils.mkdir_p(File.dirname("#{result}/#{name}"))
          FileUtils.cp_r("#{source}/#{name}", "#{result}/#{name}")
        end
      end
    end

    def fetch_source(folder)
      package = "ruby#{RELEASE}"
      errors = []
      [package, *EARLIER[RELEASE]&.map { |version| "#{package}=#{version}" }].each do |name|
        return DebianSource.fetch(name, "#{folder}/#{errors.size}")
      rescue DebianSource::Failure => error
        errors << error
      end
      raise errors.first
    end
  end
end
