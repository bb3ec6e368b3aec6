# frozen_string_literal: true

desc "The whole check: bin/test"
task(:test) { sh "bin/test", verbose: false }
