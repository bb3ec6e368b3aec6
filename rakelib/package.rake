# frozen_string_literal: true

version = Gem::Specification.load("godwit.gemspec").version

first_words = <<~RUBY
  require "godwit"
  pull = Godwit::PULL.bind("tcp://127.0.0.1:*")
  push = Godwit::PUSH.connect(pull.last_endpoint)
  push << "one way"
  said = pull.recv(timeout: 5)
  rep = Godwit::REP.bind("tcp://127.0.0.1:*")
  server = Thread.new { rep.send(rep.recv.reverse) }
  answer = Godwit::REQ.connect(rep.last_endpoint) { |req| req.request("first words", timeout: 5) }
  server.join
  abort "wrong: \#{[said, answer].inspect}" unless [said, answer] == ["one way", "sdrow tsrif"]
  home, backend = ARGV
  abort "BACKEND is \#{Godwit::BACKEND}" unless Godwit::BACKEND.to_s == backend
  strangers = $LOADED_FEATURES.grep(%r{/godwit[/.]}).reject { |path| path.start_with?(home) }
  abort "loaded from elsewhere: \#{strangers.join(" ")}" unless strangers.empty?
  abort "the extension needs no ffi" if backend == "native" && defined?(::FFI)
  puts "PUSH and PULL, REQ and REP understand each other, \#{backend} on \#{RUBY_ENGINE} " \
    "\#{RUBY_VERSION}, from \#{home}"
RUBY

# Away from the bundle and the checkout's lib/: only files of the gem may be found.
clean = ->(home) do
  {
    "RUBYOPT" => nil, "RUBYLIB" => nil, "BUNDLE_GEMFILE" => nil, "BUNDLER_SETUP" => nil,
    "GODWIT_BACKEND" => nil, "GEM_HOME" => home, "GEM_PATH" => home
  }
end

build = lambda do |file, env|
  mkdir_p "pkg", verbose: false
  sh(
    {"RUBYOPT" => nil, "BUNDLER_SETUP" => nil, **env}, RbConfig.ruby, "-S", "gem", "build",
    "--quiet", "godwit.gemspec", "--output", "pkg/#{file}", verbose: false
  )
end

desc "Build the gem into pkg/"
task(:gem) { build.call("godwit-#{version}.gem", {"GODWIT_GEM_PLATFORM" => nil}) }

# Neither gem needs a gem other than Ruby's own logger: CRuby's has its extension, JRuby has its own
# ffi.
contents = lambda do |file, platform, extensions|
  spec = Gem::Package.new("pkg/#{file}").spec
  facts = [spec.platform.to_s, spec.extensions, spec.runtime_dependencies.map(&:name)]
  unless facts == [platform, extensions, ["logger"]]
    abort "package:check: #{file} has #{facts.inspect}"
  end
  c = spec.files.grep(%r{\.(?:c|h|so|jar)\z|\Aext/})
  abort "package:check: #{file} carries #{c.join(" ")}" unless c.empty? == extensions.empty?
end

# Installs a built gem into an empty folder, checks its contents and runs it.
try = lambda do |file, home, ruby, backend|
  rm_rf home, verbose: false
  sh clean[home],
    *ruby,
    "-S",
    "gem",
    "install",
    "--local",
    "--no-document",
    "--quiet",
    File.expand_path("pkg/#{file}"),
    verbose: false
  folders = Dir["#{home}/gems/*"]
  unless folders == ["#{home}/gems/#{file.delete_suffix(".gem")}"]
    abort "package:check: #{file} brought #{folders.join(" ")}"
  end
  shipped = Dir["sig/**/*.rbs", base: folders.first].sort
  unless shipped.any? && shipped == Dir["sig/**/*.rbs"].sort
    abort "package:check: the gem's types are #{shipped.join(" ")}"
  end
  Dir.chdir("/") do
    sh clean[home], *ruby, "#{home}/bin/godwit", "version", verbose: false
    sh clean[home], *ruby, "-e", first_words, home, backend, verbose: false
  end
end

namespace :package do
  desc "Build the gem for JRuby, which has no extension, into pkg/"
  task(:java) { build.call("godwit-#{version}-java.gem", {"GODWIT_GEM_PLATFORM" => "java"}) }

  desc "Build both gems, install them into tmp/, run them"
  task check: [:gem, :java] do
    require_relative "support/jruby"
    contents.call("godwit-#{version}.gem", "ruby", ["ext/godwit/extconf.rb"])
    contents.call("godwit-#{version}-java.gem", "java", [])
    try.call("godwit-#{version}.gem", File.expand_path("tmp/package"), [RbConfig.ruby], "native")
    abort "package:check: #{Godwit::JRuby.missing}" if Godwit::JRuby.missing
    try.call(
      "godwit-#{version}-java.gem", File.expand_path("tmp/package-java"), Godwit::JRuby.command,
      "ffi"
    )
  end
end
