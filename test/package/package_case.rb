# frozen_string_literal: true

require "test_helper"
require "support/debians"
require_relative "gem_index"
require_relative "../../rakelib/support/native_gem"

# The base of the tests of the built platform gem.
class PackageCase < Godwit::TestCase
  deadline 600

  NativeGem = Godwit::NativeGem
  DebianRoot = Godwit::DebianRoot
  NAME = "godwit-#{Godwit::VERSION}"
  PLATFORM_GEM = "#{NAME}-#{NativeGem::PLATFORM}"
  INSIDE = DebianRoot::INSIDE

  def setup
    super
    reason = NativeGem.unbuilt
    skip reason if reason
  end

  def teardown
    @index&.close
    super
  end

  # Serves the platform gem, the source gem, JRuby's gem, and the gem logger.
  # @return [Godwit::GemIndex]
  def index
    built = {nil => NAME, "java" => "#{NAME}-java"}.map do |platform, name|
      path = "#{scratch_dir}/#{name}.gem"
      command = [RbConfig.ruby, "-S", "gem", "build", "godwit.gemspec", "--output", path]
      env = {"GODWIT_GEM_PLATFORM" => platform, "BUNDLE_GEMFILE" => nil}
      assert_child(start_command(command, env: env).finish)
      path
    end
    logger = Gem.loaded_specs.fetch("logger").cache_file
    @index = Godwit::GemIndex.new([NativeGem.path, *built, logger])
  end

  # Yields the host's path of the Debian system's folder {INSIDE}.
  def in_root(root)
    reason = DebianRoot.missing
    skip reason if reason
    root.work do |folder|
      FileUtils.mkdir("#{folder}/home")
      yield folder
    end
  end

  # @return [String] the output of a command that runs in the folder {INSIDE} of a Debian system
  def run_inside(root, *command, env: {})
    home = {"HOME" => "#{INSIDE}/home", "GEM_HOME" => "#{INSIDE}/gems"}
    root.run(*command, chdir: INSIDE, env: home.merge(env))
  end
end
