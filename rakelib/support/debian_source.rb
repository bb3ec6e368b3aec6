# frozen_string_literal: true

require "digest"
require "etc"
require "fileutils"
require "open3"
require "rake"
require "tmpdir"

module Godwit
  # Debian's source packages, unpacked outside of the repository. The results of a build are kept in
  # the user's cache.
  module DebianSource
    # A tool is missing, or the network.
    class Failure < StandardError; end

    module_function

    # A user's PATH may lack the folders of servers.
    # @param name [String] of a program
    # @return [String, nil] its path
    def installed(name)
      folders = [*ENV["PATH"].to_s.split(":"), "/usr/local/sbin", "/usr/sbin", "/sbin"]
      folders.map { |folder| File.join(folder, name) }
        .find { |path| File.file?(path) && File.executable?(path) }
    end

    # @return [String] folder for the result of a source package's build
    def cache(name)
      cache = ENV["XDG_CACHE_HOME"].to_s
      cache = File.join(Dir.home, ".cache") unless cache.start_with?("/")
      File.join(cache, "godwit", name)
    end

    # Keeps a folder of files in the cache: another process sees it whole, or not at all.
    # @param name [String] in the cache
    # @yieldparam folder [String] an empty folder for the build
    # @yieldparam result [String] an empty folder for the files to keep
    # @return [String] the folder in the cache
    def keep(name)
      goal = cache(name)
      once(goal, -> { File.directory?(goal) }) do |folder|
        unfinished = "#{goal}.#{Process.pid}"
        FileUtils.mkdir_p(unfinished)
        yield folder, unfinished
        FileUtils.mv(unfinished, goal)
      ensure
        FileUtils.rm_rf(unfinished)
      end
      goal
    end

    # Runs a build step once. Of two concurrent builders the later finds the work done.
    # @param goal [String] its folder in the cache
    # @param done [Proc] whether the result exists
    # @yieldparam folder [String] an empty folder for the build
    def once(goal, done)
      return if done.call
      FileUtils.mkdir_p(File.dirname(goal))
      File.open("#{goal}.lock", File::RDWR | File::CREAT) do |lock|
        lock.flock(File::LOCK_EX)
        Dir.mktmpdir("godwit-source-") { |folder| yield folder } unless done.call
      end
    end

    # @param package [String] its name, and "=VERSION" for a certain one
    # @param suite [String, nil] such as trixie; nil: that of the machine
    # @param sums [Hash{String => String}] SHA-256 sums of the package's files; empty: as apt has
    #   them
    # @return [String] folder of the unpacked source
    def fetch(package, folder, suite: nil, sums: {})
      source = "#{folder}/source"
      FileUtils.mkdir_p(source)
      options = lists(folder, "deb-src", suite: suite)
      run("apt-get", "source", "--download-only", package, *options, chdir: source)
      sums.each { |name, sum| check("#{source}/#{name}", sum) }
      run("dpkg-source", "-x", *Dir.children(source).grep(/\.dsc\z/), chdir: source)
      Dir.glob("#{source}/*/").first ||
        raise(Failure, "apt-get source #{package} left no source behind")
    end

    def check(path, sum)
      found = Digest::SHA256.file(path).hexdigest if File.file?(path)
      return if found == sum
      raise Failure, "#{File.basename(path)} has the SHA-256 sum #{found.inspect}, not #{sum}"
    end

    # Fetches separate lists of packages: the machine's lists stay as they are, and no root is
    # needed.
    # @param type [String] deb or deb-src
    # @param suite [String, nil]
    # @return [Array<String>] apt-get's options for the lists
    def lists(folder, type, suite: nil)
      %w[state/lists/partial cache/archives/partial].each do |path|
        FileUtils.mkdir_p("#{folder}/#{path}")
      end
      own = options(
        "Dir::State" => "#{folder}/state", "Dir::State::Lists" => "#{folder}/state/lists",
        "Dir::State::status" => "/var/lib/dpkg/status", "Dir::Cache" => "#{folder}/cache",
        "APT::Sandbox::User" => Etc.getpwuid.name, "Acquire::Languages" => "none",
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled" => "false", "Acquire::Retries" => "3"
      )
      places = suite ? ["#{signature}#{mirror} #{suite} main"] : sources(own)
      lines = places.map { |place| "#{type} #{place}\n" }
      File.write("#{folder}/sources.list", lines.join)
      options = own + options(
        "Dir::Etc::SourceList" => "#{folder}/sources.list", "Dir::Etc::SourceParts" => "/dev/null"
      )
      run("apt-get", "update", "-o", "APT::Update::Error-Mode=any", *options)
      options
    end

    def options(settings) = settings.flat_map { |name, value| ["-o", "#{name}=#{value}"] }

    # The places that the machine's own apt takes Debian's packages from. A machine without package
    # lists gets them in the separate folder.
    # @return [Array<String>] lines of a sources.list, without their type
    def sources(own)
      known = places
      return known unless known.empty?
      run("apt-get", "update", *own)
      known = places(own)
      known.empty? ? raise(Failure, "apt knows no package list of Debian's") : known
    end

    # @return [String] where the machine's own apt takes Debian from
    def mirror
      format = "$(LABEL)|$(REPO_URI)"
      lines = run("apt-get", "indextargets", "--format", format, "Created-By: Packages").lines
      lines.filter_map { |line| line[/\ADebian\|(.*)/, 1] }.first ||
        raise(Failure, "apt knows no package list of Debian's: apt-get update")
    end

    def signature
      keys = Dir.glob("/usr/share/keyrings/debian-archive-keyring.*").first
      "[signed-by=#{keys}] " if keys
    end

    def places(options = [])
      format = "$(SITE)|$(RELEASE)|$(COMPONENT)|$(ORIGIN)"
      lines = run(
        "apt-get", "indextargets", "--format", format, *options, "Created-By: Packages"
      ).lines(chomp: true).uniq
      lines.filter_map do |line|
        site, release, component, origin = line.split("|")
        if origin == "Debian"
          "#{signature}#{site} #{release} #{component}"
        end
      end
    end

    # @return [String] the command's output
    # @raise [Failure] with the end of it
    def run(*command, chdir: Dir.pwd)
      output, status =
        Open3.capture2e(
          {"LC_ALL" => "C.UTF-8", "DEBIAN_FRONTEND" => "noninteractive"}, *command, chdir: chdir,
          stdin_data: ""
        )
      return output if status.success?
      raise Failure, "#{command.first(2).join(" ")} failed:\n#{output.lines.last(15).join}"
    rescue Errno::ENOENT
      raise Failure, "#{command.first} is not installed (bin/setup installs what is needed)"
    end
  end
end
