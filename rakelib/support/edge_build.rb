# frozen_string_literal: true

require "digest"
require_relative "edge_programs"
require_relative "mruby_build"

# Builds the edge, a dynamic module of nginx: ngx_http_godwit_module.so. It contains mruby, the
# mrbgem and the edge's own Ruby files.
class EdgeBuild
  ROOT = MRubyBuild::ROOT
  NAME = "ngx_http_godwit_module"
  MANIFEST = "edge/manifest"
  # What pkg-config calls the libraries, and the packages of their headers.
  LIBRARIES = {
    "hiredis" => "libhiredis-dev", "jansson" => "libjansson-dev", "libpcre2-8" => "libpcre2-dev",
    "libssl" => "libssl-dev", "zlib" => "zlib1g-dev", "libzmq" => "libzmq3-dev"
  }.freeze
  # The only names that nginx looks for in a module.
  EXPORTS = "#{ROOT}/edge/exports"
  # What nginx's `configure` makes for a module.
  CONFIGURED = ["ngx_auto_config.h", "ngx_auto_headers.h", "#{NAME}_modules.c"].freeze

  # Something is missing, or does not compile.
  Failure = BuildFolder::Failure

  # @return [Array<String>] the edge's Ruby files, in load order, relative to the root
  def self.manifest = BuildFolder.manifest(MANIFEST)

  # @return [String, nil] why the module cannot be built
  def self.missing = MRubyBuild.missing || missing_beside_mruby

  # @private
  # @return [String, nil]
  def self.missing_beside_mruby
    missing_libraries ||
      ("nginx and nginx-dev were not found, and no apt-get" unless EdgePrograms.possible?)
  end

  def self.missing_libraries
    return if pkg_config?(*LIBRARIES.keys)
    packages = LIBRARIES.reject { |name, _| pkg_config?(name) }.values.join(" ")
    "libraries were not found. Debian: apt-get install #{packages}"
  end

  def self.pkg_config?(*names) = system("pkg-config", "--exists", *names) || false
  private_class_method :missing_libraries, :pkg_config?

  # Builds it for a run of the tests: libasan must be the first library of nginx.
  # @return [Hash{String => String}] the environment of the tests
  def self.with_address_sanitizer
    flags = %w[-fsanitize=address -fno-omit-frame-pointer]
    library, = Open3.capture2(BuildFolder.compiler, "-print-file-name=libasan.so")
    {
      "GODWIT_EDGE_MODULE" => new("#{ROOT}/tmp/edge/address", flags: flags).build,
      "GODWIT_EDGE_PRELOAD" => File.realpath(library.chomp)
    }
  end

  # @param folder [String, nil] for the module; nil: tmp/edge/NGINX-VERSION
  # @param flags [Array<String>] for the compiler and the linker, such as -fsanitize=address
  def initialize(folder = nil, flags: [])
    @mruby = MRubyBuild.new
    reason = self.class.missing_beside_mruby
    raise Failure, reason if reason
    @source = EdgePrograms.nginx_source
    @extra = flags
    @path = folder || "#{ROOT}/tmp/edge/#{version}"
  end

  # @return [String] such as 1.22.1
  def version
    @version ||= File.read("#{@source}/src/core/nginx.h")[/NGINX_VERSION +"(.+?)"/, 1]
  end

  # @return [String] path of the module
  # @raise [Failure] it does not compile
  def build
    library = "#{@mruby.build}/libmruby-godwit.a"
    folder.alone do
      sources = Dir["#{ROOT}/edge/src/*.c"].sort
      sources.push("#{configured}/#{NAME}_modules.c", folder.irep("gw_edge_irep", MANIFEST))
      objects = folder.compile_all(sources)
      # The folder's time changes with the names in it.
      parts = [*objects, library, EXPORTS, "#{ROOT}/edge/src"]
      folder.update("#{NAME}.so", parts) do |target|
        BuildFolder.run(*linker(target), *objects, library, *libraries)
      end
    end
  end

  private

  def folder
    @folder ||= BuildFolder.new(
      @path, flags: flags, sources: [*Dir["#{ROOT}/edge/src/*.h"], __FILE__]
    )
  end

  def flags
    headers = Dir["#{@source}/src/**/*.h"].map { |path| File.dirname(path) }.uniq.sort
    [*@mruby.flags, *headers.map { |name| "-I#{name}" }, "-I#{configured}", *@extra]
  end

  # nginx unloads modules as it exits, while threads of libzmq may still run: -z nodelete.
  def linker(target)
    [
      BuildFolder.compiler, "-shared", "-o", target, *@extra, "-Wl,--as-needed",
      "-Wl,-z,nodelete", "-Wl,-z,relro", "-Wl,-z,now", "-Wl,--version-script=#{EXPORTS}"
    ]
  end

  def libraries = ["-lhiredis", "-ljansson", *@mruby.libraries]

  # @return [String] the folder of what `configure` has made
  def configured
    @configured ||= begin
      # Debian's folder has the number of its ABI.
      files = ["#{ROOT}/edge/config", "#{@source}/conf_flags", *Dir["#{@source}/debian/*"].sort]
      texts = files.map { |path| File.read(path) }
      name = "nginx-#{version}-#{Digest::SHA256.hexdigest(texts.join)[0, 8]}"
      Godwit::DebianSource.keep(name) do |made, result|
        configure(made)
        FileUtils.cp(CONFIGURED.map { |file| "#{made}/#{file}" }, result)
      end
    end
  end

  def configure(folder)
    Godwit::DebianSource.run(
      "bash", "-c", '. ./conf_flags && ./configure "${NGX_CONF_FLAGS[@]}" "$@"', "configure",
      "--add-dynamic-module=#{ROOT}/edge", "--builddir=#{folder}", chdir: @source
    )
  end
end
