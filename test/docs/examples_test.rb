# frozen_string_literal: true

require_relative "../test_helper"
require_relative "page"
require_relative "../support/network"
require_relative "../../rakelib/support/draft_library"
require_relative "../../rakelib/support/mruby_build"

# The pages README.md, docs/ and work/docs/ are true: each Ruby example runs, in a separate process,
# and gives the result in its `# =>`.
class ExamplesTest < Godwit::TestCase
  DEADLINE = 15

  Page.all.flat_map(&:examples).each do |example|
    test "example #{example.name}" do
      skip "not run: #{example.reason}" if example.reason
      result = assert_child((example.needs == "mruby") ? run_on_mruby(example) : run_here(example))
      assert_empty result.stderr.lines.reject { |line| foreign_warning?(line) }.join
    end
  end

  test "no example is overlooked" do
    Page.all.each do |page|
      assert_equal page.text.scan(/```\s*(?:ruby|rb)\b/i).size,
        page.examples.size,
        "#{page.path}: write ```ruby at the start of a line"
      assert_empty page.text.scan(/^~~~/), "#{page.path}: fences are ```"
    end
    assert_operator Page.new("README.md").examples.size, :>=, 1
  end

  test "a broken promise, an error and a warning are found" do
    Dir.mktmpdir do |dir|
      {"1 + 1 # => 3" => "promises 3", "raise 'no'" => "no (RuntimeError)",
       "warn 'careful'" => "careful"}.each do |source, seen|
        page = "#{dir}/page.md"
        File.write(page, "```ruby\n#{source}\n```\n")
        # From the project's root, as any page.
        path = page.delete_prefix("/").prepend("../" * Page::ROOT.count("/"))
        assert_includes run_child("test/docs/run.rb", [path, 2], deadline: DEADLINE).stderr, seen
      end
    end
  end

  test "every link within the project leads somewhere" do
    paths = Dir.glob("{.,docs,adr,work/docs}/*.md", base: Page::ROOT)
    pages = paths.map { |path| Page.new(path) }
    broken = pages.flat_map do |page|
      page
        .links
        .reject do |link|
          File.exist?(File.expand_path(link, File.dirname(File.join(Page::ROOT, page.path))))
        end
        .map { |link| "#{page.path}: #{link}" }
    end
    assert_empty broken
  end

  test "CONTRIBUTING's tree names existing files" do
    tree = Page.new("CONTRIBUTING.md").text[/^```text\n(.*?)^```$/m, 1]
    paths = tree.lines.flat_map { |line| line[/\A\S+(?: \S+)*?(?=\s{2,})/].to_s.split }
    assert_operator paths.size, :>, 10
    assert_empty paths.reject { |path| File.exist?(File.join(Page::ROOT, path)) }
  end

  private

  def run_here(example)
    gems = example.source.match?(/^require "(?:async|active_support|godwit\/work.*)"/)
    network = example.needs == "network"
    skip Godwit::TestSupport::Network.missing if network && Godwit::TestSupport::Network.missing
    run_child("test/docs/run.rb", [example.page, example.line], deadline: DEADLINE, gems: gems,
      env: env_for(example), network: network)
  end

  def run_on_mruby(example)
    skip "no mruby: #{MRubyBuild::PACKAGES}" unless MRubyBuild.possible?
    program = File.join(MRubyBuild.new.build, "mruby-godwit")
    # The lines before it make the numbers of its lines those of the page.
    file = File.join(scratch_dir, File.basename(example.page, ".md") + ".rb")
    File.write(file, "\n" * (example.line - 1) + Page.program(example))
    start_command([program, file], deadline: DEADLINE).finish
  end

  # The folder of the libzmq with drafts: bin/test names it (and builds it when it is missing), else
  # it is searched for.
  def env_for(example)
    return {} unless example.needs == "draft"
    library = Godwit::DraftLibrary.new
    path = ENV["GODWIT_DRAFT_LIBRARY"] || (library.lib if library.built?)
    {
      "LD_LIBRARY_PATH" =>
        path || flunk("this example needs the libzmq that `bundle exec rake draft` builds")
    }
  end

  # Some versions of Bundler and RubyGems warn about each other.
  def foreign_warning?(line)
    path = line[%r{\A(/.+?):\d+: warning: }, 1]
    path && (!path.start_with?("#{Page::ROOT}/") || path.start_with?("#{Page::ROOT}/vendor/"))
  end
end
