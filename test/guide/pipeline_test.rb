# frozen_string_literal: true

require_relative "guide_case"

# examples/guide/pipeline: a ventilator deals tasks to workers, a sink gets the results.
class GuidePipelineTest < GuideCase
  test "each task is done once, the sum is right, and the sink ends the workers" do
    sink = example("pipeline/sink", "tcp://127.0.0.1:*", "tcp://127.0.0.1:*", 3)
    results, control = endpoints(sink)
    ventilator = example("pipeline/ventilator", "tcp://127.0.0.1:*", results, 300, 3)
    tasks, = endpoints(ventilator)
    workers = Array.new(3) { example("pipeline/worker", tasks, results, control) }

    assert_equal "300 results, their sum is #{300.times.sum { |number| number**2 }}",
      lines(sink).last
    assert_equal "sent 300 tasks", lines(ventilator).last
    done = workers.map { |worker| lines(worker).last[/\Adid (\d+) tasks\z/, 1].to_i }
    assert_equal [100, 100, 100], done, "the ventilator waited for all, so it deals evenly"
  end

  test "Ctrl-C ends each program while it waits" do
    sink = example("pipeline/sink", "tcp://127.0.0.1:*", "tcp://127.0.0.1:*")
    results, control = endpoints(sink)
    ventilator = example("pipeline/ventilator", "tcp://127.0.0.1:*", results, 10, 2)
    tasks, = endpoints(ventilator)
    worker = example("pipeline/worker", tasks, results, control).wait_for("ready")
    assert_equal "did 0 tasks", interrupt(worker).last
    lonely = example("pipeline/ventilator", "tcp://127.0.0.1:*", "tcp://127.0.0.1:1")
    endpoints(lonely)
    [ventilator, sink, lonely].each { |child| refute_includes interrupt(child).last, "tasks" }
  end
end
