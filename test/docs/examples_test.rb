# frozen_string_literal: true

require_relative "example_case"

# Each Ruby example of README.md, docs/ and work/docs/ runs in a separate process, and gives the
# results that its comments `# =>` show.
class ExamplesTest < ExampleCase
  examples { |example| !%w[draft edge].include?(example.needs) }

  test "no example is overlooked" do
    Page.all.each do |page|
      assert_equal page.text.scan(/```\s*(?:ruby|rb)\b/i).size,
        page.examples.size,
        "#{page.path}: write ```ruby at the start of a line"
      assert_empty page.text.scan(/^~~~/), "#{page.path}: fences are ```"
    end
    assert_operator Page.new("README.md").examples.size, :>=, 1
  end

  test "README's badges are true" do
    gem = Gem::Specification.load(File.join(Page::ROOT, "godwit.gemspec"))
    ruby = gem.required_ruby_version.to_s[/\d+\.\d+/]
    extconf = File.read(File.join(Page::ROOT, "ext/godwit/extconf.rb"))
    libzmq = extconf[/OLDEST_LIBZMQ = "(\d+\.\d+)/, 1]
    text = Page.new("README.md").text
    badges = text.scan(%r{^!\[(.+?)\]\(https://img\.shields\.io}).flatten
    assert_equal ["license #{gem.license}", "Ruby #{ruby} or newer", "libzmq #{libzmq} or newer",
      "Linux"], badges
  end

  BESIDE = <<~MARKDOWN
    <!-- runs beside the next example -->
    ```ruby
    require "godwit"
    Godwit::REP.bind("tcp://127.0.0.1:5555").serve { |name| "hello \#{name}" }
    ```

    ```ruby
    require "godwit"
    Godwit::REQ.connect("tcp://127.0.0.1:5555").request("you", timeout: 5) # => "hello me"
    ```
  MARKDOWN
  # The text of a page => the line of its last example, and what the run of this example reports.
  FAULTY = {
    "```ruby\n1 + 1 # => 3\n```\n" => [2, "promises 3"],
    "```ruby\nraise 'no'\n```\n" => [2, "no (RuntimeError)"],
    "```ruby\nwarn 'careful'\n```\n" => [2, "careful"],
    BESIDE => [8, %(promises "hello me", and it is "hello you")]
  }.freeze

  test "a broken promise, also of a server's client, an error and a warning are found" do
    page = "#{scratch_dir}/page.md"
    FAULTY.each do |text, (line, seen)|
      File.write(page, text)
      child = run_child("test/docs/run.rb", [from_root(page), line], deadline: DEADLINE)
      assert_includes child.stderr, seen
    end
  end

  test "CONTRIBUTING's tree names existing files" do
    tree = Page.new("CONTRIBUTING.md").text[/^```text\n(.*?)^```$/m, 1]
    paths = tree.lines.flat_map { |line| line[/\A\S+(?: \S+)*?(?=\s{2,})/].to_s.split }
    assert_operator paths.size, :>, 10
    assert_empty paths.reject { |path| File.exist?(File.join(Page::ROOT, path)) }
  end

  private

  def from_root(page) = page.delete_prefix("/").prepend("../" * Page::ROOT.count("/"))
end
