# frozen_string_literal: true

require "rubygems"

module Godwit
  # JRuby from the gem jruby-jars, on the machine's Java.
  module JRuby
    # Without these JRuby cannot give a child process its pipes.
    OPENED = %w[java.io sun.nio.ch java.nio.channels].flat_map { |package| ["--add-opens", "java.base/#{package}=ALL-UNNAMED"] }.freeze

    # For programs that are over before Java's second compiler has paid off: half of their time.
    SHORT = %w[-XX:TieredStopAtLevel=1].freeze

    # Bundler's hold on this process is on CRuby's gems.
    ENVIRONMENT = %w[RUBYOPT RUBYLIB GEM_HOME GEM_PATH BUNDLE_GEMFILE].to_h { |name| [name, nil] }.freeze

    module_function

    # @param arguments [Array<String>] of jruby
    # @param java [Array<String>] options of Java
    # @return [Array<String>] the command line that runs them
    # @raise [LoadError] when the gem is not there
    def command(*arguments, java: [])
      ["java", *OPENED, *java, "-cp", jars.join(":"), "org.jruby.Main", *arguments]
    end

    # @return [String, nil] why there is no JRuby here
    def missing
      jars
      "java is not installed (bin/setup does it)" unless system("command -v java >/dev/null 2>&1")
    rescue LoadError
      "the gem jruby-jars is not installed (bin/setup does it)"
    end

    # The environment of tests: JRuby from its jars does not know the command that runs it, and they start children.
    # @return [Hash{String => String, nil}]
    def testing = ENVIRONMENT.merge("GODWIT_TEST_JRUBY" => command(java: SHORT).join("\n"))

    # @return [Array<String>] of the gem, in the bundle's folder or wherever RubyGems has it
    # @raise [LoadError]
    def jars
      @jars ||= begin
        bundled = Dir[File.expand_path("../../vendor/bundle/ruby/*/gems/jruby-jars-*", __dir__)].max
        Dir[File.join(bundled || Gem::Specification.find_by_name("jruby-jars").full_gem_path, "lib/*.jar")].sort
      end
    end
  end
end
