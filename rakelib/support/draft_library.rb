# frozen_string_literal: true

require "etc"
require_relative "debian_source"

module Godwit
  # A libzmq with drafts: Debian's source package of zeromq3, its patches and its features, with
  # --enable-drafts. The build is kept in the user's cache, outside the repository; the extension
  # needs no other build for it, only LD_LIBRARY_PATH.
  class DraftLibrary
    # As in Debian's own debian/rules, where the compiler finds the library for it.
    FEATURES = {
      "libsodium" => ["--with-libsodium"], "openpgm-5.3" => ["--with-pgm"],
      "norm" => ["--with-norm=yes"], "krb5-gssapi" => ["--with-libgssapi_krb5=yes"]
    }.freeze

    Failure = DebianSource::Failure

    # @return [String] version of the system's libzmq, the one of the extension's header
    def version
      @version ||= run("pkg-config", "--modversion", "libzmq").strip
    end

    # @return [String] folder that it is installed in
    def prefix = DebianSource.cache("libzmq-draft-#{version}")

    # @return [String] folder of libzmq.so.5
    def lib = File.join(prefix, "lib")

    def built? = File.exist?(File.join(lib, "libzmq.so.5"))

    # Builds it unless it is there.
    # @return [String] {#lib}
    # @raise [Failure] when it cannot be built: no network, a tool missing
    def build
      DebianSource.once(prefix, method(:built?)) do |folder|
        say "fetching Debian's source package of zeromq3"
        make(DebianSource.fetch("zeromq3", folder))
      end
      lib
    end

    private

    # Build into a temporary folder and rename it, so that a folder of the final name is complete.
    def make(source)
      check_version(source)
      features =
        FEATURES.select { |package, _| system("pkg-config", "--exists", package) }.values.flatten
      say "building libzmq #{version} with #{features.join(" ")} --enable-drafts"
      unfinished = "#{prefix}.#{Process.pid}"
      run("./autogen.sh", chdir: source) unless File.exist?("#{source}/configure")
      run(
        "./configure", "--prefix=#{prefix}", "--enable-drafts", "--disable-Werror",
        "--disable-static", "--without-docs", "--disable-perf", "--disable-curve-keygen", *features,
        chdir: source
      )
      # Only the library: the test programs take longer than all the rest.
      run("make", "-j#{Etc.nprocessors}", "src/libzmq.la", chdir: source)
      run("make", "install-libLTLIBRARIES", "DESTDIR=#{unfinished}", chdir: source)
      FileUtils.mv(File.join(unfinished, prefix), prefix)
    ensure
      FileUtils.rm_rf(unfinished) if unfinished
    end

    def check_version(source)
      numbers =
        File
          .read("#{source}/include/zmq.h")
          .scan(/^#define ZMQ_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)/)
          .join(".")
      return if numbers == version
      raise Failure,
        "Debian's source package is libzmq #{numbers}, the system's library #{version}: " \
        "install Debian's libzmq3-dev"
    end

    def run(*command, **options) = DebianSource.run(*command, **options)

    def say(text) = warn("draft: #{text}")
  end
end
