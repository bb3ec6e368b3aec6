# frozen_string_literal: true

require_relative "lib/godwit/version"

Gem::Specification.new do |spec|
  spec.name = "godwit"
  spec.version = Godwit::VERSION
  spec.authors = ["The Godwit authors"]
  spec.summary = "Native ZeroMQ for Ruby"
  spec.description =
    "ZeroMQ sockets that carry whole messages, share between threads and fibers, " \
      "obey timeouts and signals, and cost about as much as libzmq's own C."
  spec.license = "MIT"
  # JRuby has its own ffi and takes no C: its package carries no extension. The platform gem has compiled ones (rake package:native).
  # GODWIT_GEM_PLATFORM=java builds JRuby's on any Ruby.
  platform = ENV["GODWIT_GEM_PLATFORM"] || ("java" if RUBY_PLATFORM == "java")
  spec.platform = platform if platform
  compiled = platform && platform != "java"
  # Other Rubies than those of the platform gem get the source gem.
  others = ["< 3.5.dev", *(0..20).map { |patch| "!= 3.2.#{patch}" }]
  spec.required_ruby_version = [">= 3.1", *(others if compiled)]

  # Globs, not `git ls-files`: the gem also builds from an unpacked archive and where git is missing.
  spec.files = Dir.chdir(__dir__) do
    Dir[
      "lib/**/*.rb", *("ext/godwit/{*.{c,h,rb},exports}" unless platform), *("lib/godwit/*/godwit_ext.so" if compiled),
      *("licenses/*.txt" if compiled), "exe/godwit", "man/man1/*.1",
      "docs/*.md", "docs/pictures/*.svg", "adr/*.md", "test/*.md", "bench/*.md", "sig/**/*.rbs",
      "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", ".yardopts"
    ].sort
  end
  spec.bindir = "exe"
  spec.executables = ["godwit"]
  spec.extensions = ["ext/godwit/extconf.rb"] unless platform
  spec.require_paths = ["lib"]
  spec.add_dependency "logger", "~> 1.4" # of Ruby's own until 3.4, a bundled gem since

  # The comments are YARD's. Ri's pages of them would take most of the time to install.
  spec.rdoc_options = %w[--exclude .]

  spec.homepage = "https://github.com/godwit-rb/godwit"
  spec.metadata = {
    "homepage_uri" => spec.homepage,
    "documentation_uri" => "https://rubydoc.info/gems/godwit",
    "changelog_uri" => "#{spec.homepage}/blob/main/CHANGELOG.md",
    "rubygems_mfa_required" => "true",
    "commit" => ENV["GODWIT_COMMIT"] # rakelib/package.rake sets it
  }.compact
end
