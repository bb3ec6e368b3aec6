# frozen_string_literal: true

require_relative "lib/godwit/version"

Gem::Specification.new do |spec|
  spec.name = "godwit-work"
  spec.version = Godwit::VERSION
  spec.authors = ["The Godwit authors"]
  spec.summary = "Consumers of topics in an SQLite file, without a server, or on Kafka"
  spec.description = "Topics, groups, consumption in order or by key, retries and dead letters: a consumer framework on one SQLite file, or on Apache Kafka."
  spec.license = "MIT"
  spec.required_ruby_version = ">= 3.1" # CRuby's: sqlite3 has no build for JRuby

  spec.files = Dir.chdir(__dir__) do
    Dir["work/{lib,sig}/**/*.{rb,rbs,h}", "work/ext/**/*.{rb,c,h}", "work/exe/*", "work/docs/*.md", "CHANGELOG.md", "LICENSE", ".yardopts"].sort
  end
  spec.bindir = "work/exe"
  spec.executables = ["godwit-work"]
  spec.require_paths = ["work/lib"]
  spec.extensions = ["work/ext/kafka_ext/extconf.rb"] # needs no librdkafka
  spec.add_dependency "godwit", Godwit::VERSION
  spec.add_dependency "sqlite3", ">= 2.0", "< 3"

  # The comments are YARD's. Ri's pages of them would take most of the time to install.
  spec.rdoc_options = %w[--exclude .]

  spec.homepage = "https://github.com/godwit-rb/godwit"
  spec.metadata = {
    "homepage_uri" => spec.homepage,
    "documentation_uri" => "https://rubydoc.info/gems/godwit-work",
    "changelog_uri" => "#{spec.homepage}/blob/main/CHANGELOG.md",
    "rubygems_mfa_required" => "true",
    "commit" => ENV["GODWIT_COMMIT"] # rakelib/package.rake sets it
  }.compact
end
