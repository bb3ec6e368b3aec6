# frozen_string_literal: true

# Godwit's sockets for a build of mruby: conf.gem "/path/to/godwit/mruby" in build_config.rb.
MRuby::Gem::Specification.new("mruby-godwit") do |spec|
  root = File.expand_path("..", __dir__)
  spec.license = "MIT"
  spec.authors = ["The Godwit authors"]
  spec.version = File.read("#{root}/lib/godwit/version.rb")[/"(.+)"/, 1]
  spec.summary = "ZeroMQ sockets"

  spec.rbfiles = File.readlines("#{root}/mruby/manifest", chomp: true)
    .map { |line| line.sub(/#.*/, "").strip }.reject(&:empty?).map { |name| "#{root}/#{name}" }

  # mruby loads a gem after those that it depends on.
  %w[
    array-ext class-ext compar-ext enum-ext enumerator error fiber hash-ext io kernel-ext metaprog
    numeric-ext object-ext proc-ext range-ext sprintf string-ext struct symbol-ext
  ].each { |name| spec.add_dependency("mruby-#{name}", core: "mruby-#{name}") }

  # The files of the C extension that need no VM.
  spec.cc.include_paths << "#{root}/ext/godwit"
  %w[threads process pool frames inproc].each do |name|
    object = objfile("#{build_dir}/shared/#{name}")
    file(object => ["#{root}/ext/godwit/#{name}.c", "#{root}/ext/godwit/core.h"]) do |task|
      spec.cc.run(task.name, task.prerequisites.first)
    end
    spec.objs << object
  end
  spec.linker.libraries << "zmq"
end
