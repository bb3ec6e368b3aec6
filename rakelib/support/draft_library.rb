# frozen_string_literal: true

require "etc"
require "fileutils"
require "open3"
require "rake"
require "tmpdir"

module Godwit
  # A libzmq with drafts: Debian's source package of zeromq3, its patches and its features, with --enable-drafts. It lies in the
  # user's cache, outside the repository; the extension needs no other build for it, only LD_LIBRARY_PATH.
  class DraftLibrary
    # As in Debian's own debian/rules, where the compiler finds the library for it.
    FEATURES = {
      "libsodium" => ["--with-libsodium"],
      "openpgm-5.3" => ["--with-pgm"],
      "norm" => ["--with-norm=yes"],
      "krb5-gssapi" => ["--with-libgssapi_krb5=yes"]
    }.freeze

    class Failure < StandardError; end

    # @return [String] of the system's libzmq, whose header the extension was compiled with
    def version
      @version ||= run("pkg-config", "--modversion", "libzmq").strip
    end

    # @return [String] folder that it is installed in
    def prefix
      cache = ENV["XDG_CACHE_HOME"].to_s
      cache = File.join(Dir.home, ".cache") unless cache.start_with?("/")
      File.join(cache, "godwit", "libzmq-draft-#{version}")
    end

    # @return [String] folder of libzmq.so.5
    def lib = File.join(prefix, "lib")

    def built? = File.exist?(File.join(lib, "libzmq.so.5"))

    # Builds it unless it is there.
    # @return [String] {#lib}
    # @raise [Failure] when it cannot be built: no network, a tool missing
    def build
      return lib if built?
      FileUtils.mkdir_p(File.dirname(prefix))
      # Of two builds at once the later finds the work done.
      File.open("#{prefix}.lock", File::RDWR | File::CREAT) do |lock|
        lock.flock(File::LOCK_EX)
        Dir.mktmpdir("godwit-draft-") { |folder| make(fetch(folder)) } unless built?
      end
      lib
    end

    private

    # Asks apt for the source package with lists of its own: the machine's lists stay as they are, and no root is needed.
    # @return [String] folder of the unpacked source
    def fetch(folder)
      say "fetching Debian's source package of zeromq3"
      File.write("#{folder}/sources.list", sources.join("\n") + "\n")
      %w[state/lists/partial cache/archives/partial source].each { |path| FileUtils.mkdir_p("#{folder}/#{path}") }
      settings = {
        "Dir::Etc::SourceList" => "#{folder}/sources.list", "Dir::Etc::SourceParts" => "/dev/null",
        "Dir::State" => "#{folder}/state", "Dir::State::status" => "/var/lib/dpkg/status", "Dir::Cache" => "#{folder}/cache",
        "APT::Sandbox::User" => Etc.getpwuid.name, "Acquire::Languages" => "none", "Acquire::Retries" => "3"
      }
      options = settings.flat_map { |name, value| ["-o", "#{name}=#{value}"] }
      run("apt-get", "update", "-o", "APT::Update::Error-Mode=any", *options)
      run("apt-get", "source", "zeromq3", *options, chdir: "#{folder}/source")
      Dir.glob("#{folder}/source/*/").first || raise(Failure, "apt-get source zeromq3 left no source behind")
    end

    # The places that the machine's own apt takes Debian's packages from.
    # @return [Array<String>] lines of a sources.list
    def sources
      keys = Dir.glob("/usr/share/keyrings/debian-archive-keyring.*").first
      format = "$(SITE)|$(RELEASE)|$(COMPONENT)|$(ORIGIN)"
      lines = run("apt-get", "indextargets", "--format", format, "Created-By: Packages").lines(chomp: true).uniq
      lines = lines.filter_map do |line|
        site, release, component, origin = line.split("|")
        "deb-src #{"[signed-by=#{keys}] " if keys}#{site} #{release} #{component}" if origin == "Debian"
      end
      lines.empty? ? raise(Failure, "apt knows no package list of Debian's: apt-get update first") : lines
    end

    # Into a folder beside the right one, which then gets the name: one that is there is whole.
    def make(source)
      check_version(source)
      features = FEATURES.select { |package, _| system("pkg-config", "--exists", package) }.values.flatten
      say "building libzmq #{version} with #{features.join(" ")} --enable-drafts"
      unfinished = "#{prefix}.#{Process.pid}"
      run("./autogen.sh", chdir: source) unless File.exist?("#{source}/configure")
      run("./configure", "--prefix=#{prefix}", "--enable-drafts", "--disable-Werror", "--disable-static", "--without-docs", "--disable-perf",
        "--disable-curve-keygen", *features, chdir: source)
      # Only the library: the test programs take longer than all the rest.
      run("make", "-j#{Etc.nprocessors}", "src/libzmq.la", chdir: source)
      run("make", "install-libLTLIBRARIES", "DESTDIR=#{unfinished}", chdir: source)
      FileUtils.mv(File.join(unfinished, prefix), prefix)
    ensure
      FileUtils.rm_rf(unfinished) if unfinished
    end

    def check_version(source)
      numbers = File.read("#{source}/include/zmq.h").scan(/^#define ZMQ_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)/).join(".")
      return if numbers == version
      raise Failure, "Debian's source package is libzmq #{numbers}, the system's library #{version}: install Debian's libzmq3-dev"
    end

    def run(*command, chdir: Dir.pwd)
      output, status = Open3.capture2e({"LC_ALL" => "C.UTF-8", "DEBIAN_FRONTEND" => "noninteractive"}, *command, chdir: chdir, stdin_data: "")
      return output if status.success?
      raise Failure, "#{command.first(2).join(" ")} failed:\n#{output.lines.last(15).join}"
    rescue Errno::ENOENT
      raise Failure, "#{command.first} is not installed (bin/setup installs what is needed)"
    end

    def say(text) = warn("draft: #{text}")
  end
end
