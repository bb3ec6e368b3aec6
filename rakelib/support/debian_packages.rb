# frozen_string_literal: true

require_relative "debian_source"

module Godwit
  # Debian's packages, unpacked in the user's cache with the libraries that their programs lack
  # here: no root is needed, and no service starts.
  class DebianPackages
    Failure = DebianSource::Failure
    # The folders of programs, and of libraries.
    PROGRAMS = "{usr/,}{bin,sbin}"
    LIBRARIES = "{usr/,}lib/*-linux-*"

    # @param name [String] of the folder in the cache, which this Debian's version ends
    # @param packages [Array<String>]
    def initialize(name, packages)
      @name = name
      @packages = packages
    end

    # Fetches them unless they are there.
    # @return [String]
    # @raise [Failure] no network, no Debian
    def folder = @folder ||= unpacked

    # @return [Boolean] whether they are there
    def fetched? = !debian.nil? && File.directory?(DebianSource.cache(cached))

    # @return [String] path of a program
    def program(name)
      Dir["#{folder}/#{PROGRAMS}/#{name}"].first ||
        raise(Failure, "#{@packages.join(", ")} hold no program #{name}")
    end

    # @return [Hash] with which the programs run
    def env = environment(folder)

    private

    def unpacked
      raise Failure, "#{@packages.join(", ")}: this system is not Debian" unless debian
      DebianSource.keep(cached) do |folder, result|
        options = DebianSource.lists(folder, "deb")
        unpack(@packages, folder, options, result)
        until (lost = lost_libraries(result)).empty?
          names = libraries(folder)
          raise Failure, "no package has #{lost.join(", ")}" if names.empty?
          unpack(names, folder, options, result)
        end
      end
    end

    # @return [String] the folder's name in the cache
    def cached = [@name, debian, architecture].join("-")

    # @return [String, nil] such as 12.11; in a cache, nginx of another version would not do
    def debian
      File.read("/etc/debian_version").strip.tr("/", "-") if File.exist?("/etc/debian_version")
    end

    def architecture = DebianSource.run("dpkg", "--print-architecture").strip

    def unpack(names, folder, options, result)
      DebianSource.run("apt-get", "download", *names, *options, chdir: folder)
      Dir["#{folder}/*.deb"].each { |path| DebianSource.run("dpkg", "-x", path, result) }
    end

    # @return [Array<String>] names of libraries that the loader does not find
    def lost_libraries(result)
      programs = Dir["#{result}/#{PROGRAMS}/*"].select { |path| File.file?(path) }
      said, = Open3.capture2e({"LC_ALL" => "C", **environment(result)}, "ldd", *programs)
      said.scan(/^\s*(\S+) => not found/).flatten.uniq
    end

    # @return [Array<String>] packages of libraries that the fetched ones depend on, and that are
    #   neither installed nor fetched
    def libraries(folder)
      fetched = Dir["#{folder}/*.deb"]
      lines = fetched.map { |path| DebianSource.run("dpkg-deb", "--field", path, "Depends") }
      names = lines.join(",").split(",").map { |choice| choice[/[a-z0-9][a-z0-9.+-]*/].to_s }
      names.uniq.select { |name| name.start_with?("lib") && !name.end_with?("-dev") }
        .reject { |name| fetched.any? { |path| File.basename(path).start_with?("#{name}_") } }
        .reject { |name| installed?(name) }
    end

    def installed?(name)
      status, = Open3.capture2e("dpkg-query", "--show", "--showformat", "${db:Status-Status}", name)
      status == "installed"
    end

    def environment(folder)
      paths = Dir["#{folder}/#{LIBRARIES}"]
      return {} if paths.empty?
      {"LD_LIBRARY_PATH" => [*paths, ENV["LD_LIBRARY_PATH"]].compact.join(":")}
    end
  end
end
