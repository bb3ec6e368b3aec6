# frozen_string_literal: true

require "test_helper"
require "json"
require "yaml"
require_relative "page"

# The text of docs/install.md; test/package/install_page_test.rb runs its commands.
class InstallPageTest < Godwit::TestCase
  test "each block of commands is run in a Debian, or marked as not run here" do
    blocks = Page.new("docs/install.md").text.scan(/^(.*)\n+```(?:sh|dockerfile)\n/).flatten
    run, others = blocks.partition { |line| line.match?(/\A<!-- run: .* -->\z/) }
    assert_equal 3, run.size
    assert_operator others.size, :>=, 6
    assert_empty others.grep_v(/\(not run here\):\z/)
  end

  test "compose.yml and devcontainer.json agree" do
    compose = YAML.safe_load_file("#{Page::ROOT}/compose.yml").fetch("services")
    folder = "#{Page::ROOT}/.devcontainer"
    container = JSON.parse(File.read("#{folder}/devcontainer.json"))
    assert_path_exists File.expand_path(container.fetch("dockerComposeFile"), folder)
    service = compose.fetch(container.fetch("service"))
    assert_equal container.fetch("workspaceFolder"), service.fetch("working_dir")
    assert_equal [".:#{service["working_dir"]}"], service.fetch("volumes")
    assert_path_exists File.expand_path(container.fetch("postCreateCommand"), Page::ROOT)
  end
end
