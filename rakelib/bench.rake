# frozen_string_literal: true

benchmarks = %w[
  throughput latency frames proxy loop runtimes sockets busy_thread allocations compat logger shell
  security perf ttcp work work_kafka mruby edge package beside
]

desc "Run all benchmarks, print ratios to libzmq's own C, write bench/RESULTS.md (BENCH_QUICK=1: " \
  "short form, writes bench/build/RESULTS.md)"
task bench: benchmarks.map { |name| "bench:#{name}" } do
  %w[readme:figures bench:plots].each { |name| Rake::Task[name].invoke } unless ENV["BENCH_QUICK"]
end

namespace :bench do
  desc "Build the C programs of the benchmarks into bench/build"
  task :build do
    require_relative "../bench/support/bench"
    Bench::Programs.build_all
  end

  desc "Draw bench/plots of bench/RESULTS.md (with gnuplot)"
  task :plots do
    require_relative "../bench/support/plots"
    Bench::Plots.new.write
  end

  benchmarks.each do |name|
    desc "Benchmark: #{name.tr("_", " ")} alone"
    task name => [:compile, :build, *(:gem if name == "package")] do
      ruby "bench/#{name}.rb", verbose: false
    end
  end
end
