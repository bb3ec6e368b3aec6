# frozen_string_literal: true

namespace :lint do
  desc "Ruby style (standardrb)"
  task(:ruby) { sh "standardrb", verbose: false }

  desc "Shell syntax of bin/* and .ci/run"
  task :shell do
    %w[bin/setup bin/test bin/demo .ci/run].each { |script| sh "sh", "-n", script, verbose: false }
  end

  desc "Order of the C files, prefixes of static functions, one place for calls that consume an " \
    "edge"
  task :layers do
    require_relative "support/c_layers"
    problems = CLayers.problems
    abort problems.join("\n") if problems.any?
  end

  require_relative "support/text_rules"
  TextRules::RULES.each do |name, sentence|
    desc sentence
    task name do
      problems = TextRules.public_send(name)
      abort problems.join("\n") if problems.any?
    end
  end
end

desc "Style and syntax"
task lint: [
  "lint:shell", "lint:ruby", "lint:layers",
  *TextRules::RULES.keys.map { |name| "lint:#{name}" }
]
