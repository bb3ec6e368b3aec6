# frozen_string_literal: true

namespace :matrix do
  run = ->(*words, env: {}) { sh env, "test/matrix/debian.sh", *words, verbose: false }

  desc "Debian 13: Ruby 3.3, libzmq 4.3.5, mruby 3.3; in a chroot, needs root"
  task(:trixie) { run.call("trixie", *%w[conformance native logger shell process mruby edge]) }

  desc "Debian sid: Ruby 3.4 (from experimental), libzmq 4.3.5, mruby 4.0; in a chroot, needs root"
  task :sid do
    run.call("sid", *%w[conformance native process auth perf shell logger work mruby])
  end

  desc "JRuby 10 on the Java 21 of Debian 13; in a chroot, needs root"
  task(:jruby) { run.call("trixie", "jruby", env: {"JRUBY" => "10.1.2.0"}) }

  desc "README's install lines, Gemfile and bin/demo on a bare Debian 12 and 13; needs root"
  task(:readme) { ruby "-Ilib", "-Itest", "test/matrix/readme_test.rb", verbose: false }
end

desc "Build the gem and run tests on other versions of Ruby, libzmq, mruby and JRuby; needs root"
task matrix: %w[matrix:readme matrix:trixie matrix:sid matrix:jruby]
