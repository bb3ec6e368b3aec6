# frozen_string_literal: true

require "etc"
require "rake/extensiontask"

Rake::ExtensionTask.new("godwit_ext") do |ext|
  ext.ext_dir = "ext/godwit"
  ext.lib_dir = "lib/godwit"
  ext.source_pattern = "*.{c,h}" # a changed header rebuilds too
end

# The Makefile lists the sources that existed when it was made; a new or deleted source requires a
# new Makefile.
sources = "tmp/extension-sources"
names = Dir["ext/godwit/*.{c,h}"].sort.join("\n")
unless File.exist?(sources) && File.read(sources) == names
  mkdir_p "tmp", verbose: false
  File.write(sources, names)
end
Rake.application.tasks.each { |task| task.enhance([sources]) if task.name.end_with?("/Makefile") }

namespace :compile do
  desc "Compile with every warning an error, apart from the usual build"
  task :strict do
    build = "tmp/strict"
    rm_rf build, verbose: false
    mkdir_p build, verbose: false
    Dir.chdir(build) do
      sh RbConfig.ruby,
        "../../ext/godwit/extconf.rb",
        "--enable-werror",
        verbose: false,
        out: "extconf.log"
      sh "make", "--silent", "--jobs=#{Etc.nprocessors}", verbose: false
    end
    exported = `nm -D --defined-only #{build}/godwit_ext.so`.lines.map { |line| line.split.last }
    # Anything else exported could shadow, or be shadowed by, another library's function.
    unless exported == ["Init_godwit_ext"]
      abort "godwit_ext.so exports #{exported.join(", ")}, not Init_godwit_ext alone"
    end
  end
end
