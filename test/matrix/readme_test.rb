# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require_relative "../docs/page"
require_relative "../../rakelib/support/debian_root"

# Runs what README.md tells a newcomer to type, on Debian systems without Ruby and compiler.
class ReadmeTest < Godwit::TestCase
  deadline 1200

  DebianRoot = Godwit::DebianRoot
  INSIDE = DebianRoot::INSIDE
  README = Page.new("README.md")
  APT = /^apt-get install .*$/
  SUITES = %w[bookworm trixie].freeze
  MEGABYTES = /^setup: downloads (\d+) MB of/

  # The first lines of each script. The file 91yes makes apt ask no questions.
  BEFORE = <<~SH
    exec 2>&1
    echo 'APT::Get::Assume-Yes "true";' >/etc/apt/apt.conf.d/91yes
    apt-get update
  SH

  def setup
    super
    reason = DebianRoot.missing
    skip reason if reason
    skip "this is no clone of a repository" unless File.exist?("#{Page::ROOT}/.git")
  end

  # @return [String] output of a script, in a Debian without packages that has this folder
  def run_bare(suite, folder, script) = DebianRoot.new(suite, []).run_fresh(script, source: folder)

  # @return [String] the block of Ruby that contains the text
  def block(text) = README.examples.map(&:source).find { |source| source.include?(text) }

  def git(*words) = system("git", *words, exception: true, chdir: Page::ROOT)

  SUITES.each do |suite|
    test "on a bare #{suite} README's apt line, Gemfile, server.rb and client.rb work" do
      gemfile = block("git:")
      git("clone", "--quiet", "--bare", ".", "#{scratch_dir}/godwit.git")
      client = block(".request(").sub(/^req\.request/, 'puts "got " + req.request')
      {"Gemfile" => gemfile, "server.rb" => block(".serve {"), "client.rb" => client}
        .each { |name, source| File.write("#{scratch_dir}/#{name}", source) }
      said = run_bare(suite, scratch_dir, <<~SH)
        #{BEFORE}
        #{README.text[APT]}
        url=#{gemfile[/git: "(.*)"/, 1]}
        useradd --create-home reader
        chown reader .
        git config --system safe.directory '*'
        git config --system url.file://#{INSIDE}/godwit.git.insteadOf $url
        su reader <<'READER'
        set -e
        #{README.text[/^bundle config .*\nbundle install$/]}
        bundle exec ruby server.rb &
        bundle exec ruby client.rb
        bundle exec godwit version
        READER
      SH
      assert_operator Integer(said[/^Need to get (\d+) MB/, 1]), :<=,
        Integer(README.text[/apt downloads (\d+) MB/, 1])
      assert_match(/^got hello you$/, said)
      assert_match(/^godwit \S+ \(native backend\)$/, said)
    end
  end

  test "on a bare bookworm bin/demo says what it downloads, and runs its scenes" do
    files = IO.popen(%w[git ls-files -z], chdir: Page::ROOT, &:read).split("\0")
    files.select { |path| File.file?("#{Page::ROOT}/#{path}") }.each do |path|
      FileUtils.mkdir_p(File.dirname("#{scratch_dir}/#{path}"))
      FileUtils.cp("#{Page::ROOT}/#{path}", "#{scratch_dir}/#{path}")
    end
    said = run_bare("bookworm", scratch_dir, <<~SH)
      #{BEFORE}
      BENCH_QUICK=1 bin/demo
      BENCH_QUICK=1 bin/demo
    SH
    assert_operator said[/^setup: needs Debian packages: (.*)$/, 1].split.size, :<=, 12
    megabytes = Integer(said[MEGABYTES, 1]) + Integer(said[/vendor\/demo \((\d+) MB\)/, 1])
    assert_operator megabytes, :<=, Integer(README.text[/first downloads (\d+) MB/, 1])
    assert_equal 1, said.scan(MEGABYTES).size
    first, second = said.split("\nEach scene is a small program").first(2)
    [first, second].each do |run|
      scenes = run.split(/^\d+\. /).drop(1)
      assert_operator scenes.size, :>=, 14
      scenes.each { |scene| assert_match(/^   (?:=> .*\.$|skipped: it needs )/, scene) }
      assert_operator scenes.grep_v(/^   skipped: /).size, :>=, 10
    end
  end
end
