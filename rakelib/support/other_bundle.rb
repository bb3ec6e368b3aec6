# frozen_string_literal: true

require "rake"

module Godwit
  # A bundle for tests with gems that the Gemfile does not have: the lists of gems must not mix.
  class OtherBundle
    include Rake::FileUtilsExt

    def initialize(gemfile)
      @environment = {
        "BUNDLE_GEMFILE" => File.expand_path(gemfile),
        "BUNDLE_PATH" => File.expand_path("vendor/bundle"), "RUBYOPT" => nil, "RUBYLIB" => nil,
        "BUNDLER_SETUP" => nil
      }
    end

    # Installs the gems, and runs a test file with them.
    def run(file)
      Bundler.with_unbundled_env do
        sh @environment, "bundle", "install", "--quiet", verbose: false
        sh @environment, RbConfig.ruby, "-Ilib", "-Itest", file, verbose: false
      end
    end
  end
end
