# frozen_string_literal: true

desc "Build the gem and run conformance, native, logger, shell, process and mruby on Debian 13 " \
  "(Ruby 3.3, libzmq 4.3.5, mruby 3.3), in a chroot; needs root"
task(:matrix) { sh "test/matrix/debian.sh", "trixie", verbose: false }
