# frozen_string_literal: true

namespace :memory do
  task(:load) { require_relative "../test/memory/valgrind" }

  # A few files whose tests cover most ways to send, receive, wait and drop.
  short = [
    %w[test/conformance/patterns_test.rb test/conformance/zero_copy_test.rb],
    %w[test/conformance/frames_test.rb], %w[work/test/kafka/native_test.rb]
  ]

  # @param groups [Array<Array<String>>] files for one process each
  check = lambda do |groups, jobs|
    $stdout.sync = true
    unless Godwit::TestSupport::Valgrind.installed?
      abort "rake memory: valgrind is not installed: bin/setup --force installs it"
    end
    Godwit::TestSupport::Valgrind.build
    queue = Thread::Queue.new(groups).close
    bad = Thread::Queue.new
    Array.new(jobs) do
      Thread.new do
        while (files = queue.pop)
          run = Godwit::TestSupport::Valgrind.new(files)
          findings = run.run
          slow = run.failures
          lines = [
            "#{files.join(" ")}: #{run.summary}; " \
            "valgrind: #{findings.empty? ? "nothing" : findings.size}"
          ]
          lines << "  (failed, as tests; in time without valgrind? #{slow.join(", ")})" if slow.any?
          puts [*lines, *findings].join("\n")
          bad << files if findings.any? || !run.ended?
        end
      end
    end.each(&:join)
    unless bad.empty?
      abort "rake memory: #{bad.size} of #{groups.size} processes are not clean; see tmp/memory"
    end
    puts "rake memory: #{groups.size} processes, nothing of ours"
  end

  desc "Four test files under valgrind"
  task(short: :load) { check.call(short, 2) }

  desc "Test files of your choice under valgrind: rake memory:of[test/native/fibers_test.rb]"
  task(of: :load) { |_, arguments| check.call(arguments.extras.each_slice(1).to_a, 1) }

  task all: :load do
    # All in separate processes, without valgrind.
    files = Dir["test/{conformance,native}/**/*_test.rb"].sort - ["test/native/widened_test.rb"]
    groups =
      files
        .partition { |file| Godwit::TestSupport::Valgrind.fibers?(file) }
        .flat_map { |some| some.each_slice(3).to_a }
    check.call(groups, Integer(ENV.fetch("GODWIT_MEMORY_JOBS", "2")))
  end
end

desc "All of test/conformance and test/native under valgrind: finds nothing of ours " \
  "(GODWIT_MEMORY_JOBS, 2)"
task memory: "memory:all"
