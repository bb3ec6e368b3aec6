# frozen_string_literal: true

require "fileutils"
require "open3"
require "shellwords"
require_relative "../../lib/godwit/version"

# Builds mruby-godwit against the system's libmruby: the library libmruby-godwit.a, its header
# godwit.h and the interpreter mruby-godwit.
class MRubyBuild
  ROOT = File.expand_path("../..", __dir__)
  # The files of the extension that need no VM.
  SHARED = %w[threads process pool frames inproc].map { |name| "ext/godwit/#{name}.c" }.freeze
  PACKAGES = "Debian: apt-get install mruby libmruby-dev"
  # The folder of the header mruby/presym/id.h, which Debian does not package.
  PRESYM = "#{ROOT}/mruby/library/presym"

  # mruby is missing, or does not compile the gem.
  class Failure < StandardError; end

  # @return [Array<String>] the Ruby files of the gem, in load order, relative to the root
  def self.manifest
    File.readlines("#{ROOT}/mruby/manifest", chomp: true).map { |line| line.sub(/#.*/, "").strip }
      .reject(&:empty?)
  end

  # @return [Boolean] whether this system has mruby and its library
  def self.possible? = missing.nil?

  # @return [String, nil] why the gem cannot be built
  def self.missing
    need = %w[mruby mrbc mruby-config].find { |name| !system("command -v #{name} >/dev/null 2>&1") }
    need ||= "libmruby" unless library?
    "#{need} was not found. #{PACKAGES}" if need
  end

  def self.library?
    program = "#include <mruby.h>\nint main(void) { mrb_close(mrb_open()); }"
    command = [compiler, *layout, "-x", "c", "-", "-o", "/dev/null", "-lmruby", "-lm"]
    Open3.capture2e(*command, stdin_data: program).last.success?
  rescue Errno::ENOENT
    false
  end
  private_class_method :library?

  # The flags that change the layout of mrb_state, and the folders of the headers. The folders that
  # Debian 12's mruby-config prints do not exist.
  # @return [Array<String>]
  def self.layout
    printed = Open3.capture2("mruby-config", "--cflags").first.shellsplit
    macros = printed.grep(/\A-DMRB_/)
    folders = printed.grep(/\A-I/).select { |flag| File.directory?(flag.delete_prefix("-I")) }
    known = header?("mruby/presym/id.h", folders)
    [*macros, *folders, *(["-DMRB_NO_PRESYM", "-I#{PRESYM}"] unless known)]
  end

  def self.header?(name, folders)
    command = [compiler, *folders, "-E", "-x", "c", "-"]
    Open3.capture2e(*command, stdin_data: "#include <#{name}>\n").last.success?
  end
  private_class_method :header?

  def self.compiler = ENV.fetch("CC", "cc")

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
    @folder = folder || "#{ROOT}/tmp/mruby/#{self.class.version}"
  end

  # @return [String] the folder
  def build = alone { build_all }

  # Builds a program over the library.
  # @return [String] its path
  def program(source)
    alone do
      build_all
      link(compile(source), "#{@folder}/#{File.basename(source, ".c")}")
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

  private

  # Two processes do not build at the same time.
  def alone
    FileUtils.mkdir_p("#{@folder}/objects")
    File.open("#{@folder}/lock", File::RDWR | File::CREAT) do |lock|
      lock.flock(File::LOCK_EX)
      yield
    end
  end

  def build_all
    FileUtils.cp("#{ROOT}/mruby/library/godwit.h", @folder)
    FileUtils.cp_r("#{PRESYM}/.", @folder) if flags.include?("-I#{PRESYM}") # for programs over it
    sources = [*Dir["#{ROOT}/mruby/src/*.c"].sort, *SHARED.map { |path| "#{ROOT}/#{path}" }]
    sources.push("#{ROOT}/mruby/library/open.c", irep)
    main, *objects = compile_all(["#{ROOT}/mruby/library/main.c", *sources])
    archive(objects)
    link(main, "#{@folder}/mruby-godwit")
    @folder
  end

  # @return [String] the C file of the compiled Ruby files
  def irep
    path = "#{@folder}/godwit_irep.c"
    files = self.class.manifest
    sources = [*files, "mruby/manifest"].map { |name| "#{ROOT}/#{name}" }
    unless fresh?(path, [*sources, __FILE__])
      # From the root, so that backtraces have short names.
      run("mrbc", "-g", "-Bgodwit_irep", "-o", path, *files, chdir: ROOT)
    end
    path
  end

  # At the same time.
  def compile_all(sources)
    flags
    threads = sources.map { |source| Thread.new { compile(source) } }
    threads.each { |thread| thread.report_on_exception = false }.map(&:value)
  end

  def compile(source)
    object = "#{@folder}/objects/#{File.basename(source, ".c")}.o"
    headers = Dir["#{ROOT}/{ext/godwit,mruby/src,mruby/library}/*.h"]
    unless fresh?(object, [source, *headers, __FILE__])
      run(compiler, *flags, "-c", source, "-o", object)
    end
    object
  end

  def archive(objects)
    library = "#{@folder}/libmruby-godwit.a"
    return if fresh?(library, objects)
    FileUtils.rm_f(library)
    run("ar", "rcs", library, *objects)
  end

  def link(main, program)
    library = "#{@folder}/libmruby-godwit.a"
    unless fresh?(program, [main, library])
      run(compiler, main, "-o", program, library, *libraries)
    end
    program
  end

  def libraries
    paths = run("mruby-config", "--ldflags").shellsplit
      .reject { |flag| flag.start_with?("-L") && !File.directory?(flag.delete_prefix("-L")) }
    [*paths, "-lmruby", "-lzmq", "-lm", "-lpthread"]
  end

  def compiler = self.class.compiler

  def fresh?(target, sources)
    File.exist?(target) && sources.all? { |source| File.mtime(source) <= File.mtime(target) }
  end

  def run(*command, **options)
    output, status = Open3.capture2e(*command, **options)
    raise Failure, "#{command.shelljoin}\n#{output}" unless status.success?
    output
  end
end
