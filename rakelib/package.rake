# frozen_string_literal: true

version = Gem::Specification.load("godwit.gemspec").version

first_words = File.expand_path("rakelib/support/first_words.rb")

first_kafka = <<~RUBY
  require "godwit/work/kafka_ext"
  require "godwit/work"
  native = Godwit::Work.const_get(:Kafka)::Native
  file = $LOADED_FEATURES.grep(/kafka_ext/).first
  abort "loaded from elsewhere: \#{file}" unless file.start_with?(ARGV.first)
  begin
    native.open("/no/librdkafka.so")
  rescue LoadError => error
    puts "the extension for Kafka says: \#{error.message}"
  end
RUBY

# Away from the bundle and the checkout's lib/: only files of the gem, and of the gems in the other
# folders, may be found.
clean = ->(home, *others) do
  {
    "RUBYOPT" => nil, "RUBYLIB" => nil, "BUNDLE_GEMFILE" => nil, "BUNDLER_SETUP" => nil,
    "GODWIT_BACKEND" => nil, "GEM_HOME" => home, "GEM_PATH" => [home, *others].join(":")
  }
end

build = lambda do |file, env, from = "."|
  require_relative "support/release"
  mkdir_p "pkg", verbose: false
  sh(
    {"RUBYOPT" => nil, "BUNDLER_SETUP" => nil, "GODWIT_COMMIT" => Godwit::Release.commit, **env},
    RbConfig.ruby, "-S", "gem", "build",
    "--quiet", "#{file[/\A[a-z-]+(?=-\d)/]}.gemspec", "--output", File.expand_path("pkg/#{file}"),
    chdir: from, verbose: false
  )
  Godwit::Release.write_sums("pkg", version)
end

desc "Build the gem godwit into pkg/"
task(:gem) { build.call("godwit-#{version}.gem", {"GODWIT_GEM_PLATFORM" => nil}) }

# godwit needs no gem but Ruby's own logger: CRuby's has its extension, JRuby has its own ffi.
contents = lambda do |file, platform, extensions, needs: ["logger"]|
  spec = Gem::Package.new("pkg/#{file}").spec
  facts = [spec.platform.to_s, spec.extensions, spec.runtime_dependencies.map(&:name)]
  unless facts == [platform, extensions, needs]
    abort "package:check: #{file} has #{facts.inspect}"
  end
  unless needs.include?("godwit") || spec.files.include?("man/man1/godwit.1")
    abort "package:check: #{file} has no manual pages"
  end
  c = spec.files.grep(%r{\.(?:c|h|so|jar)\z|\A(?:work/)?ext/})
  abort "package:check: #{file} carries #{c.join(" ")}" unless c.empty? == extensions.empty?
end

# For rake release:check.
passed = lambda do |file|
  require_relative "support/release"
  Godwit::Release.passed("pkg/#{file}")
end

# Installs a built gem into an empty folder, beside the gems in other folders, and checks its
# contents.
install = lambda do |file, home, *others, ruby: [RbConfig.ruby], types: "sig"|
  rm_rf home, verbose: false
  sh clean[home, *others],
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
  shipped = Dir["#{types}/**/*.rbs", base: folders.first].sort
  unless shipped.any? && shipped == Dir["#{types}/**/*.rbs"].sort
    abort "package:check: the types of #{file} are #{shipped.join(" ")}"
  end
end

# Runs the installed gem godwit.
try = lambda do |home, ruby, backend|
  Dir.chdir("/") do
    sh clean[home], *ruby, "#{home}/bin/godwit", "version", verbose: false
    sh clean[home], *ruby, first_words, home, backend, verbose: false
  end
end

# The bundle's gem sqlite3 and what it needs, alone in a folder.
sqlite = lambda do |folder|
  rm_rf folder, verbose: false
  %w[sqlite3 mini_portile2].each do |name|
    spec = Gem::Specification.find_by_name(name)
    paths = [spec.full_gem_path, spec.loaded_from, *(spec.extension_dir if spec.extensions.any?)]
    paths.each do |path|
      link = File.join(folder, path.delete_prefix(spec.base_dir))
      mkdir_p File.dirname(link), verbose: false
      ln_s path, link, verbose: false
    end
  end
end

# Installs and runs godwit-work, which needs the gems godwit and sqlite3 and no other.
try_work = lambda do |godwit|
  home, others = File.expand_path("tmp/package-work"), [godwit, File.expand_path("tmp/sqlite3")]
  sqlite.call(others.last)
  install.call("godwit-work-#{version}.gem", home, *others, types: "work/sig")
  Dir.chdir("/") do
    sh clean[home, *others], RbConfig.ruby, "#{home}/bin/godwit-work", "version", verbose: false
    sh clean[home, *others], RbConfig.ruby, "-e", first_kafka, home, verbose: false
  end
end

namespace :package do
  desc "Build the gem for JRuby, which has no extension, into pkg/"
  task(:java) { build.call("godwit-#{version}-java.gem", {"GODWIT_GEM_PLATFORM" => "java"}) }

  desc "Build the gem for x86_64-linux, which has compiled extensions, into pkg/; needs root"
  task :native do
    require_relative "support/native_gem"
    reason = Godwit::NativeGem.missing
    abort "rake package:native: #{reason}" if reason
    stage = File.expand_path("tmp/package-native")
    rm_rf stage, verbose: false
    sources = Gem::Specification.load("godwit.gemspec").files.grep_v(%r{\Aext/})
    [*sources, "godwit.gemspec"].each do |file|
      mkdir_p File.dirname("#{stage}/#{file}"), verbose: false
      cp file, "#{stage}/#{file}", verbose: false
    end
    Godwit::NativeGem.new.build(stage)
    build.call(File.basename(Godwit::NativeGem.path),
      {"GODWIT_GEM_PLATFORM" => Godwit::NativeGem::PLATFORM}, stage)
  rescue Godwit::NativeGem::Failure => error
    abort "rake package:native: #{error.message}"
  end

  desc "Build the platform gem once more from clean Debians, and compare all bytes (long)"
  task :reproducible do
    require_relative "support/native_gem"
    reason = Godwit::NativeGem.missing
    abort "rake package:reproducible: #{reason}" if reason
    path = Godwit::NativeGem.path
    clean = Godwit::DebianSource.cache("reproducible")
    rm_rf clean, verbose: false
    time = ENV.fetch("SOURCE_DATE_EPOCH") { `git log -1 --format=%ct`.strip }
    # The clean one comes first: pkg/ keeps the other.
    gems = [{"XDG_CACHE_HOME" => clean}, {}].map do |cache|
      sh({"SOURCE_DATE_EPOCH" => time, **cache}, "rake", "package:native", verbose: false)
      Gem::Package.new(path).extract_files("#{clean}/files")
      sums = Dir["#{clean}/files/lib/**/*.so"].sort.map { |so| Digest::SHA256.file(so).hexdigest }
      rm_rf "#{clean}/files", verbose: false
      {"extensions" => sums, "gem" => Digest::SHA256.file(path).hexdigest}
    end
    different = gems.first.keys.reject { |name| gems.map { |gem| gem[name] }.uniq.one? }
    abort "rake package:reproducible: other bytes: #{different.join(", ")}" if different.any?
    puts "the same bytes: #{gems.first}"
    rm_rf clean, verbose: false
  end

  desc "Build the gem godwit-work into pkg/"
  task(:work) { build.call("godwit-work-#{version}.gem", {}) }

  desc "Build all three gems, install CRuby's into tmp/, run them; the platform gem if it is built"
  task check: [:gem, :java, :work] do
    contents.call("godwit-#{version}.gem", "ruby", ["ext/godwit/extconf.rb"])
    contents.call("godwit-#{version}-java.gem", "java", [])
    contents.call("godwit-work-#{version}.gem", "ruby", ["work/ext/kafka_ext/extconf.rb"],
      needs: %w[godwit sqlite3])
    home = File.expand_path("tmp/package")
    install.call("godwit-#{version}.gem", home)
    try.call(home, [RbConfig.ruby], "native")
    passed.call("godwit-#{version}.gem")
    try_work.call(home)
    passed.call("godwit-work-#{version}.gem")
    require_relative "support/native_gem"
    reason = Godwit::NativeGem.unbuilt
    reason ? puts(reason) : Rake::Task["package:check_native"].invoke
  end

  desc "Check the gem of rake package:native, install it into tmp/, run it"
  task :check_native do
    require_relative "support/native_gem"
    require_relative "support/native_check"
    path = Godwit::NativeGem.path
    abort "package:check: #{Godwit::NativeGem.unbuilt}" if Godwit::NativeGem.unbuilt
    rm_rf "tmp/package-files", verbose: false
    faults = Godwit::NativeCheck.new(path, rubies: Godwit::NativeGem::RUBIES.keys,
      libzmq: Godwit::NativeGem.libzmq_version).faults("tmp/package-files")
    abort "package:check: #{path}:\n  #{faults.join("\n  ")}" if faults.any?
    home = File.expand_path("tmp/package-native-home")
    install.call(File.basename(path), home)
    try.call(home, [RbConfig.ruby], "native")
    passed.call(File.basename(path))
  end

  desc "Build the gem for JRuby, install it into tmp/, run it"
  task check_java: :java do
    require_relative "support/jruby"
    abort "package:check_java: #{Godwit::JRuby.missing}" if Godwit::JRuby.missing
    home = File.expand_path("tmp/package-java")
    install.call("godwit-#{version}-java.gem", home, ruby: Godwit::JRuby.command)
    try.call(home, Godwit::JRuby.command, "ffi")
    passed.call("godwit-#{version}-java.gem")
  end
end
