# frozen_string_literal: true

require_relative "package_case"

# The platform gem on Debian systems with Ruby alone: no compiler, no libzmq, no other gem.
class BareTest < PackageCase
  EMPTY = "#{INSIDE}/empty"
  BIN = "#{INSIDE}/gems/bin"

  COMMANDS = <<~RUBY
    require "godwit"
    require "timeout"
    Timeout.timeout(60) do
      server = spawn("godwit", "log", "serve", "--in", "ipc://in", "--file", "app.log")
      logger = Godwit::Logger.new("ipc://in", progname: "bare")
      logger.warn("no compiler")
      Thread.pass until File.size?("app.log")
      logger.close
      Process.kill(:TERM, server)
      Process.wait(server)
      puts File.read("app.log")
      rows = spawn("godwit", "sh", "push", "ipc://rows", "--", "seq", "2")
      system("godwit", "sh", "pull", "ipc://rows", exception: true)
      Process.wait(rows)
    end
  RUBY

  # Runs the conformance tests on the installed gem. The excluded test of the build needs Ruby's
  # headers, which a bare Debian lacks.
  CONFORMANCE = <<~RUBY
    ARGV.replace(["--exclude", "/the_build_stops/"])
    Dir["test/conformance/**/*_test.rb"].sort.each { |file| require "./\#{file}" }
  RUBY

  # @return [String] the output of Ruby, which runs in an empty folder
  def ruby(root, *words, env: {})
    run_inside(root, "env", "-C", EMPTY, "PATH=#{BIN}:/usr/bin:/bin", "ruby", *words, env: env)
  end

  def copy_tests(folder)
    FileUtils.cp_r(%w[test ext godwit.gemspec], folder)
    FileUtils.cp_r("#{Gem.loaded_specs.fetch("minitest").full_gem_path}/lib", "#{folder}/minitest")
    FileUtils.mkdir_p("#{folder}/minitest/bundler")
    File.write("#{folder}/minitest/bundler/setup.rb", "")
    %w[lib exe docs].each do |name|
      File.symlink("gems/gems/#{PLATFORM_GEM}/#{name}", "#{folder}/#{name}")
    end
  end

  def assert_conformance(root, folder)
    copy_tests(folder)
    said = run_inside(root, "sh", "-c", "exec 2>&1; ruby -Iminitest -Itest -e \"$0\" || true",
      CONFORMANCE, env: {"GODWIT_TEST_DRAFT" => "1", "GODWIT_TEST_GC" => "none"})
    result = said[/^\d+ runs,.*/].to_s
    assert_match(/assertions, 0 failures, 0 errors/, result, said)
    assert_operator result.to_i, :>, 1_000
  end

  Godwit::TestSupport::Debians::BARE.each do |suite, root|
    test "on a bare #{suite} it installs from an index, and does all that it shall" do
      index
      in_root(root) do |folder|
        FileUtils.mkdir("#{folder}/empty")
        started = Godwit::Timeout.now
        run_inside(root, "gem", "install", "godwit", "--clear-sources", "--source", @index.url)
        puts format("gem install godwit on #{suite}: %.1f s", Godwit::Timeout.now - started)
        assert_equal "#{PLATFORM_GEM}\n", run_inside(root, "ls", "#{INSIDE}/gems/gems")
        FileUtils.cp("rakelib/support/first_words.rb", folder)
        assert_match(/understand each other/,
          ruby(root, "#{INSIDE}/first_words.rb", "#{INSIDE}/gems", "native"))
        assert_match(/ WARN -- bare: no compiler\n1\n2\n\z/, ruby(root, "-e", COMMANDS))
        assert_conformance(root, folder)
      end
    end
  end
end
