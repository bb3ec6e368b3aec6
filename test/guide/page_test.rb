# frozen_string_literal: true

require_relative "guide_case"

# docs/guide.md links to every program of examples/guide, and draws every pattern.
class GuidePageTest < GuideCase
  PAGE = File.read(File.join(ROOT, "docs/guide.md"))
  PROGRAMS = Dir.glob("examples/guide/**/*.rb", base: ROOT).sort.freeze

  test "every program is linked" do
    assert_operator PROGRAMS.size, :>, 25
    assert_empty PROGRAMS.reject { |path| PAGE.include?("](../#{path})") }
  end

  test "every program says how it is started, and in which file it is" do
    PROGRAMS
      .grep_v(/mdp/)
      .each do |path|
        assert_includes File.read(File.join(ROOT, path)).lines.first(14).join,
          "#   ruby -Ilib #{path}"
      end
  end

  test "every pattern of the table has a drawing" do
    sections = PAGE.split(/^## /).drop(1)
    anchors =
      sections.map { |text| text.lines.first.chomp.downcase.delete("^a-z0-9 -").tr(" ", "-") }
    assert_equal anchors, PAGE.scan(/^\| \[[^\]]+\]\(#([^)]+)\)/).flatten
    assert_empty sections.grep_v(/^```text\n.*?[─▶].*?^```$/m)
  end
end
