# frozen_string_literal: true

require "fileutils"
require "open3"
require "rubygems/package"

module Godwit
  # What is wrong with a platform gem: its extensions, its licenses, its size, and what README and
  # docs/install.md say about it.
  class NativeCheck
    ROOT = File.expand_path("../..", __dir__)
    # Parts of glibc.
    NEEDED = %w[
      libc.so.6 libpthread.so.0 libm.so.6 librt.so.1 libdl.so.2 ld-linux-x86-64.so.2
    ].freeze
    EXPORTED = %w[Init_godwit_ext].freeze
    MOST = 3 << 20 # bytes of the gem
    DEPENDENCIES = %w[logger].freeze
    # A sentence of each license's text.
    LICENSES = {
      "LICENSE" => "MIT License",
      "licenses/libzmq.txt" => "SPECIAL EXCEPTION GRANTED BY COPYRIGHT HOLDERS",
      "licenses/libsodium.txt" => "Permission to use, copy, modify, and/or distribute",
      "licenses/sha1.txt" => "Redistribution and use in source and binary forms",
      "licenses/libstdc++.txt" => "GCC RUNTIME LIBRARY EXCEPTION"
    }.freeze
    # Pages that say for which glibc, and with which libzmq, the gem was built.
    PAGES = %w[README.md docs/install.md].freeze
    GLIBC = /glibc (\d+\.\d+)/
    LIBZMQ = /libzmq (\d+\.\d+\.\d+) in the gem/

    # @param gem [String] path
    # @param rubies [Array<String>] versions such as 3.1
    # @param libzmq [String] version
    def initialize(gem, rubies:, libzmq:)
      @gem = gem
      @rubies = rubies
      @libzmq = libzmq
    end

    # @param folder [String] an empty one
    # @return [Array<String>] sentences; empty: nothing is wrong
    def faults(folder)
      package = Gem::Package.new(@gem)
      package.extract_files(folder)
      [
        *of_gem(package.spec), *licenses(folder), *pages,
        *@rubies.flat_map { |version| of_extension(folder, "lib/godwit/#{version}/godwit_ext.so") }
      ]
    end

    # @return [String] the newest version of glibc that an extension requires
    def self.glibc(path)
      ["0", *read("objdump", "-T", path).scan(/\(?GLIBC_([\d.]+)/).flatten]
        .max_by { |version| Gem::Version.new(version) }
    end

    def self.read(*command)
      text, status = Open3.capture2e(*command)
      status.success? ? text : raise("#{command.join(" ")}: #{text}")
    end

    private

    def of_gem(spec)
      names = spec.runtime_dependencies.map(&:name)
      [
        ("#{File.size(@gem)} bytes, over #{MOST}" if File.size(@gem) > MOST),
        ("it needs #{names.join(", ")}" unless names == DEPENDENCIES),
        ("it has extensions to compile" if spec.extensions.any?)
      ].compact
    end

    def licenses(folder)
      LICENSES.filter_map do |file, sentence|
        path = "#{folder}/#{file}"
        "#{file} lacks its text" unless File.file?(path) && File.read(path).include?(sentence)
      end
    end

    def pages
      PAGES.flat_map do |page|
        text = File.read("#{ROOT}/#{page}")
        [[GLIBC, floor], [LIBZMQ, @libzmq]].filter_map do |pattern, version|
          said = text.scan(pattern).flatten.uniq
          "#{page} says #{said.join(", ").inspect}, not #{version} (#{pattern.source})" \
            unless said == [version]
        end
      end
    end

    # @return [String] the version of glibc in README
    def floor = File.read("#{ROOT}/README.md")[GLIBC, 1] || "a version"

    def of_extension(folder, file)
      path = "#{folder}/#{file}"
      return ["#{file} is missing"] unless File.file?(path)
      dynamic = self.class.read("readelf", "-dW", path)
      glibc = Gem::Version.new(self.class.glibc(path))
      strange = File.binread(path).scan(%r{/(?:godwit|tmp|root|home|build)/[\w./+-]+}n).uniq
      [
        *(dynamic.scan(/NEEDED.*\[(.+)\]/).flatten - NEEDED).map { |name| "it loads #{name}" },
        *(exported(path) - EXPORTED).map { |name| "it exports #{name}" },
        ("it has TEXTREL" if dynamic.include?("TEXTREL")),
        ("it requires glibc #{glibc}" if glibc > Gem::Version.new(floor[/[\d.]+/])),
        *strange.map { |text| "it has the path #{text}" }
      ].compact.map { |fault| "#{file}: #{fault}" }
    end

    def exported(path)
      self.class.read("nm", "-D", "--defined-only", path).lines.map { |line| line.split.last }
    end
  end
end
