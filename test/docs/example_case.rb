# frozen_string_literal: true

require_relative "../test_helper"
require_relative "page"
require_relative "../support/network"
require_relative "../../rakelib/support/mruby_build"

# The base of the classes that run the examples of the pages, each example in its own process.
class ExampleCase < Godwit::TestCase
  DEADLINE = 15

  # Defines a test for each example for which the block returns true.
  def self.examples(&choice)
    Page.all.flat_map(&:examples).reject(&:beside).select(&choice).each do |example|
      test "example #{example.name}" do
        skip "not run: #{example.reason}" if example.reason
        result = (example.needs == "mruby") ? run_on_mruby(example) : run_here(example)
        assert_empty assert_child(result).stderr.lines.reject { |line| foreign_warning?(line) }.join
      end
    end
  end

  private

  def run_here(example)
    gems = example.source.match?(/^require "(?:async|active_support|godwit\/(?:work|semantic).*)"/)
    network = example.needs == "network"
    skip Godwit::TestSupport::Network.missing if network && Godwit::TestSupport::Network.missing
    run_child("test/docs/run.rb", [example.page, example.line], deadline: DEADLINE, gems: gems,
      network: network)
  end

  def run_on_mruby(example)
    skip "no mruby: #{MRubyBuild::PACKAGES}" unless MRubyBuild.possible?
    program = File.join(MRubyBuild.new.build, "mruby-godwit")
    # Empty lines before the program give its lines the numbers that they have on the page.
    file = File.join(scratch_dir, File.basename(example.page, ".md") + ".rb")
    File.write(file, "\n" * (example.line - 1) + Page.program(example))
    start_command([program, file], deadline: DEADLINE).finish
  end

  # Ignore warnings of other code: some versions of Bundler and RubyGems warn about each other.
  def foreign_warning?(line)
    path = line[%r{\A(/.+?):\d+: warning: }, 1]
    path && (!path.start_with?("#{Page::ROOT}/") || path.start_with?("#{Page::ROOT}/vendor/"))
  end
end
