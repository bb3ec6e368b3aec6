# frozen_string_literal: true

require "fileutils"
require "open3"
require "shellwords"
require_relative "../../lib/godwit/version"
require_relative "build_folder"

# Builds mruby-godwit against the system's libmruby: the library libmruby-godwit.a, its header
# godwit.h and the interpreter mruby-godwit.
class MRubyBuild
  ROOT = BuildFolder::ROOT
  # mruby is missing, or does not compile the gem.
  Failure = BuildFolder::Failure
  # The files of the extension that need no VM.
  SHARED = %w[threads process pool frames inproc native_context]
    .map { |name| "ext/godwit/#{name}.c" }.freeze
  PACKAGES = "Debian: apt-get install mruby libmruby-dev"
  # The folder of the header mruby/presym/id.h, which Debian does not package.
  PRESYM = "#{ROOT}/mruby/library/presym"

  # @return [Array<String>] the Ruby files of the gem, in load order, relative to the root
  def self.manifest = BuildFolder.manifest("mruby/manifest")

  # @return [Boolean] whether this system has mruby and its library
  def self.possible? = missing.nil?

  # @return [String, nil] why the gem cannot be built
  def self.missing
    need = %w[mruby mrbc mruby-config].find { |name| !system("command -v #{name} >/dev/null 2>&1") }
    need ||= "libmruby" unless library?
    "#{need} was not found. #{PACKAGES}" if need
  end

  # The compiler prints a path if it finds the file. To link a program would take half a second.
  def self.library?
    %w[libmruby.a libmruby.so].any? { |name|
      Open3.capture2e(compiler, "-print-file-name=#{name}").first.include?("/")
    }
  rescue Errno::ENOENT
    false
  end
  private_class_method :library?

  # The flags that change the layout of mrb_state, and the folders of the headers. The folders that
  # Debian 12's mruby-config prints do not exist.
  # @return [Array<String>]
  def self.layout = @layout ||= find_layout

  def self.find_layout
    printed = Open3.capture2("mruby-config", "--cflags").first.shellsplit
    macros = printed.grep(/\A-DMRB_/)
    folders = printed.grep(/\A-I/).select { |flag| File.directory?(flag.delete_prefix("-I")) }
    known = header?("mruby/presym/id.h", folders)
    [*macros, *folders, *(["-DMRB_NO_PRESYM", "-I#{PRESYM}"] unless known)]
  end
  private_class_method :find_layout

  def self.header?(name, folders)
    command = [compiler, *folders, "-E", "-x", "c", "-"]
    Open3.capture2e(*command, stdin_data: "#include <#{name}>\n").last.success?
  end
  private_class_method :header?

  def self.compiler = BuildFolder.compiler

  # @return [String, nil] such as 3.1.0; nil without mruby
  def self.version
    output, status = Open3.capture2e("mruby", "--version")
    output[/\Amruby (\S+)/, 1] if status.success?
  rescue Errno::ENOENT
    nil
  end

  def initialize(folder = nil)
    reason = self.class.missing
    raise Failure, reason if reason
    headers = Dir["#{ROOT}/{ext/godwit,mruby/src,mruby/library}/*.h"]
    @folder = BuildFolder.new(
      folder || "#{ROOT}/tmp/mruby/#{self.class.version}", flags: flags,
      sources: [*headers, __FILE__]
    )
  end

  # @return [String] the folder
  def build = @folder.alone { build_all }

  # Builds a program over the library.
  # @return [String] its path
  def program(source)
    @folder.alone do
      build_all
      link(@folder.compile(source), File.basename(source, ".c"))
    end
  end

  # @return [Array<String>]
  def flags
    @flags ||= [
      *self.class.layout, "-I#{ROOT}/ext/godwit", "-I#{ROOT}/mruby/library", "-std=gnu99", "-O2",
      "-g", "-fPIC", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror",
      "-DGODWIT_VERSION=\"#{Godwit::VERSION}\""
    ]
  end

  # @return [Array<String>] what a program over the library is linked with
  def libraries
    paths = BuildFolder.run("mruby-config", "--ldflags").shellsplit
      .reject { |flag| flag.start_with?("-L") && !File.directory?(flag.delete_prefix("-L")) }
    [*paths, "-lmruby", "-lzmq", "-lm", "-lpthread"]
  end

  private

  def build_all
    FileUtils.cp("#{ROOT}/mruby/library/godwit.h", @folder.path)
    # For programs over it.
    FileUtils.cp_r("#{PRESYM}/.", @folder.path) if flags.include?("-I#{PRESYM}")
    sources = [*Dir["#{ROOT}/mruby/src/*.c"].sort, *SHARED.map { |path| "#{ROOT}/#{path}" }]
    sources.push("#{ROOT}/mruby/library/open.c", @folder.irep("godwit_irep", "mruby/manifest"))
    main, *objects = @folder.compile_all(["#{ROOT}/mruby/library/main.c", *sources])
    archive(objects)
    link(main, "mruby-godwit")
    @folder.path
  end

  def archive(objects)
    @folder.update("libmruby-godwit.a", objects) do |library|
      FileUtils.rm_f(library)
      BuildFolder.run("ar", "rcs", library, *objects)
    end
  end

  def link(main, name)
    library = "#{@folder.path}/libmruby-godwit.a"
    @folder.update(name, [main, library]) do |program|
      BuildFolder.run(self.class.compiler, main, "-o", program, library, *libraries)
    end
  end
end
