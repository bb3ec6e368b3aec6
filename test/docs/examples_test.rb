# frozen_string_literal: true

require_relative "example_case"

# The pages README.md, docs/ and work/docs/ are true: each Ruby example runs, in a separate process,
# and gives the result in its `# =>`.
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

  test "CONTRIBUTING's tree names existing files" do
    tree = Page.new("CONTRIBUTING.md").text[/^```text\n(.*?)^```$/m, 1]
    paths = tree.lines.flat_map { |line| line[/\A\S+(?: \S+)*?(?=\s{2,})/].to_s.split }
    assert_operator paths.size, :>, 10
    assert_empty paths.reject { |path| File.exist?(File.join(Page::ROOT, path)) }
  end
end
