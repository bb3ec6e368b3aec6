# frozen_string_literal: true

require_relative "package_case"
require_relative "../docs/page"

# Runs the commands of docs/install.md in a Debian.
class InstallPageCommandsTest < PackageCase
  Debians = Godwit::TestSupport::Debians
  # Name that the page gives a Debian system => its Godwit::DebianRoot.
  ROOTS = {
    "bare Debian" => Debians::WITH_BUNDLER.fetch("bookworm"),
    "Debian with a compiler" => Debians::WITH_COMPILER
  }.freeze
  BLOCK = /^<!-- run: ([^\n]+) -->\n```sh\n(.*?)^```$/m
  BIN = "#{INSIDE}/gems/bin:/usr/sbin:/usr/bin:/sbin:/bin"

  # @return [String] the commands' output
  def run_page(root, commands)
    in_root(root) do |folder|
      FileUtils.mkdir_p("#{folder}/home")
      File.write("#{folder}/home/.gemrc", ":sources:\n- #{@index.url}\n")
      run_inside(root, "sh", "-euc", commands,
        env: {"PATH" => BIN, "BUNDLE_MIRROR__ALL" => @index.url})
    end
  end

  Page.new("docs/install.md").text.scan(BLOCK).each do |place, commands|
    test "in a #{place}: #{commands.lines.map(&:strip).join("; ")}" do
      index
      root = ROOTS.fetch(place)
      own = "\\(in the gem\\) " unless root == Debians::WITH_COMPILER
      assert_match(/^libzmq \S+ #{own}with /, run_page(root, commands))
    end
  end
end
