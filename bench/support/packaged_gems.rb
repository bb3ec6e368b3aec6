# frozen_string_literal: true

require_relative "../../rakelib/support/native_gem"

module Bench
  # The built gems of pkg/, each installed into a folder of its own.
  module PackagedGems
    KINDS = %i[platform_gem source_gem].freeze
    HOMES = File.join(BUILD, "package")

    module_function

    # @return [String] path in pkg/
    def file(kind)
      return Godwit::NativeGem.path if kind == :platform_gem
      File.join(ROOT, "pkg", "godwit-#{Machine.godwit}.gem")
    end

    # @return [String, nil] why it cannot take part
    def missing(kind)
      task = {platform_gem: "package:native", source_gem: "gem"}.fetch(kind)
      "#{File.basename(file(kind))} is not built: rake #{task}" unless File.exist?(file(kind))
    end

    def home(kind) = File.join(HOMES, kind.to_s)

    # @return [Array<String>] the command of a Ruby that has this gem
    def ruby(kind) = ["env", "GEM_HOME=#{home(kind)}", "GEM_PATH=#{home(kind)}", RbConfig.ruby]

    # @return [Float] seconds
    def install(kind)
      FileUtils.rm_rf(home(kind))
      start = Bench.now
      command = [*ruby(kind), "-S", "gem", "install", "--local", "--no-document", file(kind)]
      output, status = Open3.capture2e(Child::ENVIRONMENT, *command, chdir: "/")
      raise Failure, "#{command.join(" ")} failed:\n#{output}" unless status.success?
      Bench.now - start
    end

    # @return [Integer] bytes on disk
    def size(kind)
      output, = Open3.capture2("du", "-s", "--block-size=1", home(kind))
      Integer(output[/\d+/])
    end
  end
end
