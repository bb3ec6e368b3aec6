# frozen_string_literal: true

desc "The scenes of bin/demo"
task(demo: :compile) { ruby "-Ilib", "examples/demo.rb", "--all", verbose: false }
