# frozen_string_literal: true

require "yaml"
require_relative "../test_helper"
require_relative "../../rakelib/support/faults/draw"

# The code changes that `rake faults:draw` proposes as faults.
class FaultsTest < Godwit::TestCase
  RUBY = <<~RUBY
    def size(left)
      count = 5
      return count if left.nil?
      left.sum do |part|
        part.size
      end
    end
  RUBY
  C = <<~C
    static int size(int left) {
        int count = 5;
        if (left == 0) return count;
        count += left; /* 7 */
        return count;
    }
  C

  test "each fault of test/faults.yml has its lines once" do
    root = File.expand_path("../..", __dir__)
    YAML.load_file("#{root}/test/faults.yml").each do |name, fault|
      assert File.read("#{root}/#{fault["file"]}").scan(fault["lines"]).one?, name
    end
  end

  test "faults of Ruby" do
    assert_equal [
      "count = (GW_FAULT[@@] ? 6 : 5)",
      "(GW_FAULT.runs(@@) and count = 5)",
      "(GW_FAULT.runs(@@) and return count if left.nil?)",
      "(GW_FAULT.runs(@@) and return count) if left.nil?",
      "(GW_FAULT.runs(@@) and part.size)",
      "GW_FAULT.runs(@@) and left.sum do |part|",
      "return count if (GW_FAULT[@@] ^ (left.nil?))",
      "return if GW_FAULT[@@]; left.sum do |part|",
      "return if GW_FAULT[@@]; return count if left.nil?"
    ].sort, faults(Faults::RubySites, RUBY, "size.rb").sort
  end

  test "faults of C" do
    assert_equal [
      "if (GW_FAULT(@@) ^ !!(left == 0)) return count;",
      "if (GW_FAULT(@@)) return (int){0}; count += left;",
      "if (GW_FAULT(@@)) return (int){0}; int count = 5;",
      "if (left == (0 + GW_FAULT(@@))) return count;",
      "int count = (5 + GW_FAULT(@@));",
      "{ if (!GW_FAULT(@@)) { count += left; } }"
    ].sort, faults(Faults::CSites, C, "size.c").sort
  end

  test "a fault is found again in a line that has moved" do
    changed = "a = (GW_FAULT[@@] ? 2 : 1)"
    fault = Faults::Fault.new(3, "old.rb", 2, "off by one", "a = 1", changed, "")
    sources = {"old.rb" => ["b"], "new.rb" => ["b", "  a = 1"]}
    assert fault.apply(sources)
    assert_equal "  a = (GW_FAULT[3] ? 2 : 1)", sources["new.rb"].last
    refute fault.apply(sources)
  end

  private

  # @return [Array<String>] the changed lines with which the text is still valid code
  def faults(sites, text, path)
    lines = text.lines(chomp: true)
    sites.of(lines).filter_map do |index, _, changed|
      changed.strip if sites.valid?(lines.dup.tap { |all| all[index] = changed }, path)
    end
  end
end
