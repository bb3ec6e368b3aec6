# frozen_string_literal: true

require_relative "lib/godwit/version"

Gem::Specification.new do |spec|
  spec.name = "godwit"
  spec.version = Godwit::VERSION
  spec.authors = ["The Godwit authors"]
  spec.summary = "Native ZeroMQ for Ruby"
  spec.description = "ZeroMQ sockets that carry whole messages, share between threads and fibers, " \
    "obey timeouts and signals, and cost about as much as libzmq's own C."
  spec.license = "MIT"
  spec.required_ruby_version = ">= 3.1"

  # Globs, not `git ls-files`: the gem also builds from an unpacked archive and where git is missing.
  spec.files = Dir.chdir(__dir__) do
    Dir[
      "lib/**/*.rb", "ext/godwit/*.{c,h,rb}", "exe/godwit",
      "docs/*.md", "sig/**/*.rbs", "README.md", "CHANGELOG.md", "LICENSE", ".yardopts"
    ].sort
  end
  spec.bindir = "exe"
  spec.executables = ["godwit"]
  spec.extensions = ["ext/godwit/extconf.rb"]
  spec.require_paths = ["lib"]

  spec.metadata["rubygems_mfa_required"] = "true"
end
