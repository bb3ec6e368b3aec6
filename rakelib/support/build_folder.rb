# frozen_string_literal: true

require "fileutils"
require "open3"
require "shellwords"

# A folder for what C files and Ruby files of mruby are compiled to. A result that is newer than its
# sources stays.
class BuildFolder
  ROOT = File.expand_path("../..", __dir__)

  # Something is missing, or does not compile.
  class Failure < StandardError; end

  # @param path [String] relative to the root, a file with the path of a Ruby file on each line
  # @return [Array<String>] the Ruby files, relative to the root
  def self.manifest(path)
    File.readlines("#{ROOT}/#{path}", chomp: true).map { |line| line.sub(/#.*/, "").strip }
      .reject(&:empty?)
  end

  # @return [String]
  def self.compiler = ENV.fetch("CC", "cc")

  # @return [String] the command's output
  # @raise [Failure] with the command and its output
  def self.run(*command, **options)
    output, status = Open3.capture2e(*command, **options)
    raise Failure, "#{command.shelljoin}\n#{output}" unless status.success?
    output
  rescue Errno::ENOENT
    raise Failure, "#{command.first} was not found"
  end

  # @return [String]
  attr_reader :path

  # @param flags [Array<String>] of the C compiler; after a change all is compiled again
  # @param sources [Array<String>] headers and scripts, likewise
  def initialize(path, flags:, sources:)
    @path = path
    @flags = flags
    @sources = [*sources, __FILE__, "#{path}/flags"]
  end

  # Runs the block. Two processes do not build at the same time.
  def alone
    FileUtils.mkdir_p("#{@path}/objects")
    File.open("#{@path}/lock", File::RDWR | File::CREAT) do |lock|
      lock.flock(File::LOCK_EX)
      note_flags
      yield
    end
  end

  # @return [Array<String>] the objects; the C files are compiled at the same time
  def compile_all(sources)
    threads = sources.map { |source| Thread.new { compile(source) } }
    threads.each { |thread| thread.report_on_exception = false }.map(&:value)
  end

  # @return [String] the object
  def compile(source)
    update("objects/#{File.basename(source, ".c")}.o", [source]) do |object|
      run(self.class.compiler, *@flags, "-c", source, "-o", object)
    end
  end

  # Compiles the Ruby files of a manifest.
  # @param name [String] of the file without .c, and of the variable in it
  # @return [String] the C file
  def irep(name, manifest)
    files = self.class.manifest(manifest)
    raise Failure, "#{manifest} names no file" if files.empty?
    update("#{name}.c", [*files, manifest].map { |file| "#{ROOT}/#{file}" }) do |target|
      # From the root, so that backtraces have short names.
      run("mrbc", "-g", "-B#{name}", "-o", target, *files, chdir: ROOT)
    end
  end

  # Gives the block the file's path, unless the file is newer than its sources.
  # @param name [String] relative to the folder
  # @return [String] the file's path
  def update(name, sources)
    target = "#{@path}/#{name}"
    yield target unless fresh?(target, [*sources, *@sources])
    target
  end

  private

  def run(...) = self.class.run(...)

  def note_flags
    text = [self.class.compiler, *@flags].shelljoin
    noted = "#{@path}/flags"
    File.write(noted, text) unless File.exist?(noted) && File.read(noted) == text
  end

  def fresh?(target, sources)
    File.exist?(target) && sources.all? { |source| File.mtime(source) <= File.mtime(target) }
  end
end
