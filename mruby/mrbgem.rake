# frozen_string_literal: true

# Godwit's sockets for a build of mruby: conf.gem "/path/to/godwit/mruby" in build_config.rb.
require_relative "../rakelib/support/mruby_build"

MRuby::Gem::Specification.new("mruby-godwit") do |spec|
  root = MRubyBuild::ROOT
  spec.license = "MIT"
  spec.authors = ["The Godwit authors"]
  spec.version = Godwit::VERSION
  spec.summary = "ZeroMQ sockets"

  spec.rbfiles = MRubyBuild.manifest.map { |name| "#{root}/#{name}" }

  # mruby loads a gem after those that it depends on.
  %w[
    array-ext class-ext compar-ext enum-ext enumerator error fiber hash-ext io kernel-ext metaprog
    numeric-ext object-ext proc-ext range-ext sprintf string-ext struct symbol-ext
  ].each { |name| spec.add_dependency("mruby-#{name}", core: "mruby-#{name}") }

  # The files of the C extension that need no VM.
  spec.cc.include_paths << "#{root}/ext/godwit"
  MRubyBuild::SHARED.each do |path|
    object = objfile("#{build_dir}/shared/#{File.basename(path, ".c")}")
    file(object => ["#{root}/#{path}", "#{root}/ext/godwit/core.h"]) do |task|
      spec.cc.run(task.name, task.prerequisites.first)
    end
    spec.objs << object
  end
  spec.linker.libraries << "zmq"
end
