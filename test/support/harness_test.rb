# frozen_string_literal: true

require "test_helper"

# The harness must detect each fault of FAULTS. A test class in a child process has the fault.
class HarnessTest < Godwit::TestCase
  def outcome(body, prelude: "", env: {})
    report = "#{scratch_dir}/report.json"
    source = <<~RUBY
      require "test_helper"
      class Case < Godwit::TestCase
        #{prelude}
        def test_it
          #{body}
        end
      end
    RUBY
    env = {
      "GODWIT_TEST_REPORT" => report, "GODWIT_TEST_NOW" => nil, "GODWIT_TEST_GC" => nil, **PAGES
    }.merge(env)
    @child = start_command([*TESTS, "-e", source], deadline: 20, env: env).finish
    @report = File.exist?(report) ? JSON.parse(File.read(report)) : {}
  end

  def assert_passes(body, **options)
    outcome(body, **options)
    assert_equal [1, 0, 0], @report.values_at("passed", "failed", "skipped"), @child.to_s
  end

  test "a good test passes, with open sockets of the harness" do
    assert_passes <<~RUBY
      push, pull = connected_pair(:PUSH, :PULL, transport: :ipc_file)
      push.send("a")
      assert_equal "a", pull.recv
      open_socket(:PUSH).connect("tcp://127.0.0.1:1").send("never delivered")
      in_thread { pull.recv }
      own(Godwit::Context.new)
    RUBY
  end

  # name => [words of the failure, the body of the test]
  FAULTS = {
    "a context left open" =>
      [/left open: #<Godwit::Context/, "$left = Godwit::Context.new; assert true"],
    "a context that does not end in time" => [/a context did not end within 0.1 s/, <<~RUBY],
      Godwit::TestSupport::Sockets.context_deadline = 0.1
      own(Struct.new(:x) { def close = Queue.new.pop }.new)
      assert true
    RUBY
    "a thread that does not end" =>
      [/a thread did not end within/, "in_thread { Queue.new.pop }; assert true"],
    "a thread that raised, and was not joined" => [/a thread raised.*oh no/m,
      "t = in_thread { raise 'oh no' }; eventually { !t.alive? }; assert true"],
    "a child process left running" =>
      [/left a child process running/, "start_child('sleep'); assert true"],
    "a test that asserts nothing" => [/asserted nothing/, "1 + 1"],
    "an awaited condition that never comes true" =>
      [/did not come true within 0.1 s/, "eventually(deadline: 0.1) { false }"]
  }.freeze

  test "each fault fails its test, with its own words" do
    tests = FAULTS.map { |name, (_, body)| "test #{name.dump} do\n#{body}\nend" }
    outcome("assert true", prelude: "def join_threads(_) = super(0.1)\n#{tests.join("\n")}")
    assert_equal [1, FAULTS.size], @report.values_at("passed", "failed"), @child.to_s
    failures = @report["failures"].to_h { |failure| failure.values_at("name", "text") }
    FAULTS.each do |name, (words, _)|
      assert_match words, failures["Case#test_#{name.tr(" ", "_")}"].to_s, name
    end
  end

  test "two tests of one name, and a misspelt test, raise an error" do
    tests = Class.new(Godwit::TestCase)
    {test_it: /#test_it is defined twice/, tets_that: /would never run/}.each do |name, text|
      error = assert_raises(NameError) do
        tests.define_method(name) {}
        tests.method_added(name) # as Ruby does, but without its warning of a redefined method
      end
      assert_match text, error.message
    end
  end

  test "a test past its deadline ends the process and says where" do
    outcome("def stuck = Queue.new.pop\nstuck", prelude: <<~RUBY)
      deadline 0.5
      Godwit::TestSupport::Watchdog.singleton_class.prepend(Module.new do
        def bite # on a busy machine the test may reach its `pop` only after the deadline
          Thread.pass until Thread.main.backtrace.first.include?("pop")
          super
        end
      end)
    RUBY
    assert_equal [124, 1], [@child.status.exitstatus, @report["failed"]], @child.to_s
    assert_match(/Case#test_it went past its deadline/, @child.stderr)
    assert_match(/in `stuck'/, @child.stderr) # Minitest's own threads wait in `pop'
  end

  test "a child past its deadline is asked where it is, then killed" do
    child = start_child("def stuck\nputs 'said'\nsleep\nend\nstuck", deadline: 20).wait_for("said")
    # The deadline is set after the child has started, since the start may take long.
    child.instance_variable_set(:@deadline, monotonic + 0.1)
    result = child.finish
    assert result.timed_out
    refute result.success?
    assert_includes result.stdout, "said"
    assert_match(/stuck/, result.stderr)
  end

  test "under GC.stress only the classes that say so run; the level shuffle works" do
    stress = {"GODWIT_TEST_GC" => "stress"}
    outcome("assert true", env: stress)
    assert_equal 0, @report["passed"]
    assert_passes "assert GC.stress", prelude: "under_gc_stress", env: stress
    assert_passes "assert context", env: {"GODWIT_TEST_GC" => "shuffle"}
  end

  test "no two files of tests have a class of one name: a stage may load both" do
    files = Dir.glob(File.expand_path("../../{test,work/test,edge/test}/**/*.rb", __dir__))
    assert_operator files.size, :>, 200
    names = files.flat_map { |file| File.read(file).scan(/^class (\w+Test)\b/) }
    assert_empty names.tally.select { |_, count| count > 1 }
  end
end
