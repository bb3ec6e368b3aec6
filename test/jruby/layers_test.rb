# frozen_string_literal: true

require "test_helper"

# The differences between the compatibility layers and the gems they replace, on JRuby. Both layers
# define ZMQ, so each runs in a separate JRuby within this JVM.
class LayersOnJRubyTest < Godwit::TestCase
  {rbczmq: "test/compat/rbczmq/monitor_test",
   ffi_rzmq: "test/compat/ffi_rzmq/differences_test"}.each do |layer, file|
    test "#{layer}'s differences" do
      not_on :native, "it is about JRuby"
      report = run_tests(file)
      assert_empty report["failures"]
      assert_operator report["passed"], :>=, 5
    end
  end

  private

  # @return [Hash] the results of the tests of the file
  def run_tests(file)
    report = "#{scratch_dir}/report.json"
    container =
      org.jruby.embed.ScriptingContainer.new(org.jruby.embed.LocalContextScope::SINGLETHREAD)
    container.load_paths =
      %w[lib test].map { |folder| File.expand_path("../../#{folder}", __dir__) }
    container.environment = ENV.to_h.merge("GODWIT_TEST_REPORT" => report)
    container.run_scriptlet("require '#{file.delete_prefix("test/")}'")
    container.terminate
    JSON.parse(File.read(report))
  end
end
