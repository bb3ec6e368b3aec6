# frozen_string_literal: true

namespace :lint do
  # Without its cache (a fresh machine) standardrb takes a minute of processor time for all files.
  tests = %w[bench examples test work/test]
  style = ->(paths) { sh "standardrb", "--parallel", *paths, verbose: false }

  desc "Ruby style (standardrb) of the gems and the rake tasks"
  task :ruby do
    style.call(%w[api edge exe ext lib mruby rakelib work/exe work/lib] + Dir["{*file,*.gemspec}"])
  end

  desc "Ruby style (standardrb) of #{tests.join(", ")}"
  task(:tests) { style.call(tests) }

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

  desc "Each picture of docs/pictures is made from the source beside it, and a page shows it"
  task :pictures do
    require_relative "support/pictures"
    problems = Godwit::Pictures.problems
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
  "lint:shell", "lint:ruby", "lint:layers", "lint:pictures",
  *TextRules::RULES.keys.map { |name| "lint:#{name}" }
]
