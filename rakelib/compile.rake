# frozen_string_literal: true

require "etc"
require "rake/extensiontask"

# Name => the folders of the sources and of the compiled extension.
extensions = {
  "godwit_ext" => %w[ext/godwit lib/godwit],
  "kafka_ext" => %w[work/ext/kafka_ext work/lib/godwit/work]
}

extensions.each do |name, (folder, target)|
  Rake::ExtensionTask.new(name) do |ext|
    ext.ext_dir = folder
    ext.lib_dir = target
    ext.source_pattern = "*.{c,h}" # a changed header rebuilds too
  end

  # The Makefile lists the sources that existed when it was made; a new or deleted source requires
  # a new Makefile.
  list = "tmp/#{name}-sources"
  names = Dir["#{folder}/*.{c,h}"].sort.join("\n")
  unless File.exist?(list) && File.read(list) == names
    mkdir_p "tmp", verbose: false
    File.write(list, names)
  end
  makefiles = Rake.application.tasks.select { |task| task.name.end_with?("/Makefile") }
  makefiles.each { |task| task.enhance([list]) if task.name.include?("/#{name}/") }
end

# Compiles an extension with every warning an error, and checks what it exports: anything but its
# Init function could shadow, or be shadowed by, another library's function.
strict = lambda do |name, folder|
  build = "tmp/strict/#{name}"
  script = File.expand_path("#{folder}/extconf.rb")
  mkdir_p build, verbose: false
  Dir.chdir(build) do
    sh RbConfig.ruby, script, "--enable-werror", verbose: false, out: "extconf.log"
    sh "make", "--silent", "--jobs=#{Etc.nprocessors}", verbose: false
  end
  library = Dir["#{build}/**/#{name}.so"].first
  exported = `nm -D --defined-only #{library}`.lines.map { |line| line.split.last }
  next if exported == ["Init_#{name}"]
  abort "#{name}.so exports #{exported.join(", ")}, not Init_#{name} alone"
end

namespace :compile do
  desc "Compile with every warning an error, apart from the usual build"
  task :strict do
    rm_rf "tmp/strict", verbose: false
    extensions.each { |name, (folder, _)| strict.call(name, folder) }
  end
end
