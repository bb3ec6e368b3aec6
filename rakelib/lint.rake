# frozen_string_literal: true

namespace :lint do
  desc "Ruby style (standardrb)"
  task(:ruby) { sh "standardrb", verbose: false }

  desc "Shell syntax of bin/* and .ci/run"
  task :shell do
    ["bin/setup", "bin/test", "bin/demo", ".ci/run"].each { |script| sh "sh", "-n", script, verbose: false }
  end
end

desc "Style and syntax"
task lint: ["lint:shell", "lint:ruby"]
