# frozen_string_literal: true

namespace :gc do
  # One process per file, so that a file that hangs or crashes hides no other file.
  run = lambda do |level, files|
    bad = files.reject do |file|
      puts "== #{level}: #{file}"
      sh(
        {"GODWIT_TEST_GC" => level}, RbConfig.ruby, "-Ilib", "-Itest", file, verbose: false
      ) { |ok, _| ok }
    end
    abort "rake gc: #{level}: #{bad.join(" ")}" if bad.any?
  end

  desc "test/native with every object moved, and all references checked, before each test"
  task(shuffle: :compile) { run.call("shuffle", Dir["test/native/**/*_test.rb"].sort) }

  desc "test/native with a collection at each object made"
  task(stress: :compile) { run.call("stress-all", Dir["test/native/**/*_test.rb"].sort) }
end

desc "All of test/native under a collector that does its worst: GC.verify_compaction_references " \
  "and GC.stress"
task gc: ["gc:shuffle", "gc:stress"]
