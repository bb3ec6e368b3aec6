# frozen_string_literal: true

require_relative "package_case"
require_relative "../../rakelib/support/jruby"

# RubyGems and Bundler choose the right one of the source gem, the platform gem and JRuby's gem.
class ChoiceTest < PackageCase
  ROOTS = Godwit::TestSupport::Debians::WITH_BUNDLER
  TOOLS = %w[gem bundle].freeze

  # Each row is "VERSION PLATFORM" of a Ruby. Runs `gem` or `bundle` once a row, as if on that Ruby.
  FAKE = <<~RUBY
    require "tmpdir"
    tool, words, *rows = ARGV
    require((tool == "gem") ? "rubygems/gem_runner" : "bundler")
    require "bundler/cli" if tool == "bundle"
    $stdout.sync = true
    rows.each do |row|
      pid = fork do
        Dir.chdir(Dir.mktmpdir(nil, "."))
        File.write("Gemfile", File.read("../Gemfile"))
        version, system = row.split(" ", 2)
        unless version == "own"
          Object.send(:remove_const, :RUBY_VERSION)
          RUBY_VERSION = version[/\\d+\\.\\d+\\.\\d+/]
          Gem.instance_variable_set(:@ruby_version, Gem::Version.new(version))
        end
        if system
          RbConfig::CONFIG["arch"] = system
          Gem::Platform.instance_variable_set(:@local, nil)
          Gem.platforms = [Gem::Platform::RUBY, Gem::Platform.local]
        end
        (tool == "gem") ? Gem::GemRunner.new.run(words.split) : Bundler::CLI.start(words.split)
      end
      Process.wait(pid)
      abort "failed for \#{row}" unless $?.success?
      FileUtils.rm_rf(%w[vendor gems])
      puts "", "."
    end
  RUBY

  # @return [Array<String>] arguments with which the tool chooses a gem, but installs nothing
  def words(tool, *options)
    return %w[cache --no-install] if tool == "bundle"
    ["install", "--explain", "godwit", "--clear-sources", "--source", @index.url, *options]
  end

  def write_gemfile(folder, options = "")
    File.write("#{folder}/Gemfile", "source #{@index.url.inspect}\ngem \"godwit\"#{options}\n")
  end

  # @return [String, nil] the gem's full name
  def chosen(said) = said[/^ +(?:\* )?(godwit-\S+?)(?:\.gem)?$/, 1]

  # Asserts which gems a tool of a Debian chooses.
  # @param expected [Hash{String => String}] version and platform of a Ruby => a gem
  def assert_choices(expected, root, tool, *options, env: {})
    said = run_inside(root, "ruby", "-e", FAKE, tool, words(tool, *options).join(" "),
      *expected.keys, env: env)
    assert_equal expected, expected.keys.zip(said.split("\n.\n").map { |text| chosen(text) }).to_h,
      "#{tool} in #{root.name}: #{said}"
  end

  # Runs the block in each Debian.
  def each_root
    index
    ROOTS.each_value do |root|
      in_root(root) do |folder|
        write_gemfile(folder)
        yield root, folder
      end
    end
  end

  test "a Ruby of the platform gem gets it, other Rubies and processors the source gem, without " \
    "any option" do
    ours = ["own", "3.1.0", "3.3.8", "3.4.9", "own x86_64-linux-gnu", "own x86_64-linux-musl"]
      .to_h { |ruby| [ruby, PLATFORM_GEM] }
    others = ["3.2.0", "3.2.20", "3.5.0.dev", "3.5.0.preview1", "4.0.0.preview2", "4.0.0",
      "own aarch64-linux", "own aarch64-linux-gnu"].to_h { |ruby| [ruby, NAME] }
    each_root do |root|
      TOOLS.each { |tool| assert_choices({**ours, **others}, root, tool) }
    end
  end

  # Debian 12's Bundler has no option force_ruby_platform of a gem, but a setting for all gems.
  test "the two fixes of the platform gem's errors choose the source gem" do
    each_root do |root, folder|
      assert_choices({"own" => NAME}, root, "gem", "--platform", "ruby")
      old = root == ROOTS["bookworm"]
      write_gemfile(folder, old ? "" : ", force_ruby_platform: true")
      assert_choices({"own" => NAME}, root, "bundle",
        env: old ? {"BUNDLE_FORCE_RUBY_PLATFORM" => "true"} : {})
    end
  end

  test "Bundler installs its choice, and it runs" do
    each_root do |root|
      run_inside(root, "bundle", "install")
      said = run_inside(root, "bundle", "exec", "godwit", "version")
      assert_match(/\Agodwit \S+ \(native backend\)\nlibzmq \S+ \(in the gem\)/, said)
    end
    assert_equal ROOTS.size, @index.requests.count("/gems/#{PLATFORM_GEM}.gem")
  end

  test "JRuby's RubyGems and Bundler choose JRuby's gem" do
    skip Godwit::JRuby.missing if Godwit::JRuby.missing
    index
    write_gemfile(scratch_dir)
    env = {"HOME" => scratch_dir, "GEM_HOME" => "#{scratch_dir}/gems",
           "BUNDLE_GEMFILE" => "#{scratch_dir}/Gemfile"}
    TOOLS.each do |tool|
      command = Godwit::JRuby.command("-S", tool, *words(tool), java: Godwit::JRuby.short)
      result = start_command(command, env: Godwit::JRuby::ENVIRONMENT.merge(env)).finish
      assert_equal "#{NAME}-java", chosen(assert_child(result).stdout), tool
    end
  end
end
