# frozen_string_literal: true

require_relative "package_case"
require_relative "../docs/page"

# Runs the commands of docs/install.md in a Debian.
class InstallPageCommandsTest < PackageCase
  BARE = %w[ruby ruby-bundler].freeze
  # What the page calls a Debian => its packages.
  PACKAGES = {
    "bare Debian" => BARE,
    "Debian with a compiler" => [*BARE, "ruby-dev", "build-essential", "pkg-config", "libzmq3-dev"]
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
    compiles = place != "bare Debian"
    next if compiles && !Godwit::TestSupport::Length.long?
    test "in a #{place}: #{commands.lines.map(&:strip).join("; ")}" do
      index
      said = run_page(DebianRoot.new("bookworm", PACKAGES.fetch(place)), commands)
      assert_match(/^libzmq \S+ #{"\\(in the gem\\) " unless compiles}with /, said)
    end
  end
end
