# frozen_string_literal: true

require "digest"
require "etc"
require_relative "../../lib/godwit/version"
require_relative "debian_root"
require_relative "native_sources"

module Godwit
  # The extension of the platform gem for each Ruby, with libzmq and libsodium linked in. The
  # compiler and the libc are those of an old Debian, so that the result loads on newer ones.
  class NativeGem
    Failure = DebianSource::Failure
    PLATFORM = "x86_64-linux"
    COMPILER = %w[gcc g++ make].freeze
    # Version of Ruby => the Debian that has its headers.
    RUBIES = {
      "3.1" => DebianRoot.new("bookworm", ["ruby-dev", *COMPILER]),
      "3.3" => DebianRoot.new("trixie", ["ruby-dev", *COMPILER]),
      "3.4" => DebianRoot.new("sid", ["ruby3.4", "ruby3.4-dev", *COMPILER], newer: "experimental")
    }.freeze
    # The first one that the mirror has.
    TOOLCHAINS = %w[bullseye bookworm].freeze
    TOOLS = %w[build-essential autoconf automake libtool pkg-config].freeze
    # What is passed to `configure`. Without --disable-libbsd the found libbsd is linked.
    LIBSODIUM = %w[--with-pic --disable-shared].freeze
    LIBZMQ = %w[
      --enable-drafts --with-libsodium --with-pic --enable-static --disable-shared --disable-libbsd
      --disable-Werror --without-docs --disable-perf --disable-curve-keygen
    ].freeze
    FLAGS = {"CFLAGS" => "-O2", "CXXFLAGS" => "-O2"}.freeze # no -g: a tenth of the time and size
    # Name in the gem => the file in a source's folder, or in the toolchain.
    LICENSES = {
      "libzmq" => "zeromq3/COPYING.LESSER", "libsodium" => "libsodium/LICENSE",
      "sha1" => "zeromq3/external/sha1/license.txt", # for WebSockets
      "libstdc++" => "/usr/share/doc/gcc-[0-9]*-base/copyright"
    }.freeze
    # A variable of the Makefile => its folder's name in RbConfig.
    HEADERS = {"hdrdir" => "rubyhdrdir", "arch_hdrdir" => "rubyarchhdrdir"}.freeze
    INSIDE = DebianRoot::INSIDE
    PREFIX = "#{INSIDE}/libzmq"
    ROOT = File.expand_path("../..", __dir__)

    # @return [String]
    def self.path = "#{ROOT}/pkg/godwit-#{VERSION}-#{PLATFORM}.gem"

    # @return [String, nil] why it cannot be tested
    def self.unbuilt
      "#{File.basename(path)} has not been built: rake package:native" unless File.file?(path)
    end

    # @return [String]
    def self.libzmq_version = NativeSources::PACKAGES.fetch("zeromq3").first[/\A[\d.]+/]

    # @return [String, nil] why it cannot be built
    def self.missing
      DebianRoot.missing || ("dpkg-dev is needed: apt-get install dpkg-dev" unless
        DebianSource.installed("dpkg-source"))
    end

    # @param result [String] gets lib/godwit/VERSION/godwit_ext.so and licenses
    def build(result)
      libraries = libzmq
      RUBIES.each_key do |version|
        folder = "#{result}/lib/godwit/#{version}"
        FileUtils.mkdir_p(folder)
        FileUtils.cp(extension(version, libraries), folder)
      end
      FileUtils.cp_r("#{libraries}/licenses", "#{result}/licenses")
    end

    private

    def toolchain = @toolchain ||= TOOLCHAINS.lazy.filter_map { |suite| tools(suite) }.first ||
      raise(Failure, "no compiler: the mirror has none of #{TOOLCHAINS.join(", ")}")

    def tools(suite)
      root = DebianRoot.new(suite, TOOLS)
      root.folder
      root
    rescue Failure => error
      warn error.message
    end

    # @return [String] a folder with include, lib and licenses
    def libzmq
      recipe = [File.read(NativeSources::FILE), LIBSODIUM, LIBZMQ, FLAGS, toolchain.name].inspect
      DebianSource.keep("native-libzmq-#{Digest::SHA256.hexdigest(recipe)[0, 12]}") do |_, result|
        toolchain.work do |folder|
          NativeSources::PACKAGES.each_key { |name| source(name, folder) }
          compile("libsodium", ["autoreconf", "-fi"], LIBSODIUM, [])
          compile("zeromq3", ["./autogen.sh"], LIBZMQ, ["src/libzmq.la"])
          %w[include lib].each { |name| FileUtils.cp_r("#{folder}/libzmq/#{name}", result) }
          licenses(folder, "#{result}/licenses")
        end
      end
    end

    def source(name, folder)
      version, sums = NativeSources::PACKAGES.fetch(name)
      warn "fetching #{name} #{version}"
      Dir.mktmpdir("godwit-source-") do |fetched|
        path = DebianSource.fetch("#{name}=#{version}", fetched,
          suite: NativeSources::SUITE, sums: sums)
        FileUtils.cp_r(path.chomp("/"), "#{folder}/#{name}")
      end
    end

    # Debian's sources may have no `configure`.
    def compile(name, prepare, options, targets)
      warn "compiling #{name}"
      place = "#{INSIDE}/#{name}"
      run = ->(*command) { toolchain.run(*command, chdir: place, env: FLAGS) }
      run.call(*prepare)
      run.call("env", "PKG_CONFIG_PATH=#{PREFIX}/lib/pkgconfig", "./configure",
        "--prefix=#{PREFIX}", *options)
      run.call("make", "-j#{Etc.nprocessors}", *targets)
      install = targets.empty? ? ["install"] : %w[install-libLTLIBRARIES install-includeHEADERS]
      run.call("make", *install)
    end

    def licenses(folder, result)
      FileUtils.mkdir_p(result)
      LICENSES.each do |name, file|
        path = file.start_with?("/") ? "#{toolchain.folder}#{file}" : "#{folder}/#{file}"
        FileUtils.cp(Dir[path].first || raise(Failure, "no license at #{file}"),
          "#{result}/#{name}.txt")
      end
    end

    # Ruby's own extconf.rb makes the Makefile. The toolchain compiles with it, and with the headers
    # of that Ruby.
    # @return [String] path
    def extension(version, libraries)
      sources = Dir["#{ROOT}/ext/godwit/*"].sort
      texts = [*sources, __FILE__].map { |path| File.read(path) }
      recipe = Digest::SHA256.hexdigest([texts, libraries].inspect)[0, 12]
      kept = DebianSource.keep("native-extension-#{version}-#{recipe}") do |made, result|
        warn "compiling the extension for Ruby #{version}"
        headers = RUBIES.fetch(version).work do |folder|
          configure(version, folder, sources, libraries, made)
        end
        toolchain.work do |folder|
          FileUtils.cp_r("#{made}/.", folder)
          toolchain.run("make", "-j#{Etc.nprocessors}", *headers, chdir: "#{INSIDE}/build")
          toolchain.run("strip", "--strip-all", "#{INSIDE}/build/godwit_ext.so")
          FileUtils.cp("#{folder}/build/godwit_ext.so", result)
        end
      end
      "#{kept}/godwit_ext.so"
    end

    # @param made [String] gets the sources, the libraries, the Makefile and Ruby's headers
    # @return [Array<String>] make's arguments: where the headers are
    def configure(version, folder, sources, libraries, made)
      ruby = RUBIES.fetch(version)
      FileUtils.mkdir_p(["#{folder}/ext", "#{folder}/build"])
      FileUtils.cp(sources, "#{folder}/ext")
      FileUtils.cp_r(libraries, "#{folder}/libzmq")
      ruby.run("ruby#{version}", "../ext/extconf.rb", "--with-static-libzmq=#{PREFIX}",
        chdir: "#{INSIDE}/build")
      FileUtils.cp_r("#{folder}/.", made)
      HEADERS.map do |name, key|
        headers = ruby.run("ruby#{version}", "-e", "print RbConfig::CONFIG['#{key}']")
        FileUtils.cp_r("#{ruby.folder}#{headers}", "#{made}/#{name}")
        "#{name}=#{INSIDE}/#{name}"
      end
    end
  end
end
