# frozen_string_literal: true

version = Gem::Specification.load("godwit.gemspec").version

desc "Build the gem into pkg/"
task :gem do
  mkdir_p "pkg", verbose: false
  sh RbConfig.ruby, "-S", "gem", "build", "--quiet", "godwit.gemspec", "--output", "pkg/godwit-#{version}.gem", verbose: false
end

namespace :package do
  desc "Build the gem, install it into tmp/, run what it installed"
  task check: :gem do
    home = File.expand_path("tmp/package")
    rm_rf home, verbose: false
    built = File.expand_path("pkg/godwit-#{version}.gem")
    # Away from the bundle and the checkout's lib/: only what the gem carries may be found.
    clean = {"RUBYOPT" => nil, "RUBYLIB" => nil, "BUNDLE_GEMFILE" => nil, "GEM_HOME" => home, "GEM_PATH" => home}
    sh clean, RbConfig.ruby, "-S", "gem", "install", "--local", "--no-document", "--quiet", "--install-dir", home, built, verbose: false
    shipped = Dir["sig/**/*.rbs", base: "#{home}/gems/godwit-#{version}"].sort
    abort "package:check: the gem's types are #{shipped.join(" ")}" unless shipped.any? && shipped == Dir["sig/**/*.rbs"].sort
    Dir.chdir("/") { sh clean, RbConfig.ruby, "#{home}/bin/godwit", "version", verbose: false }
  end
end
