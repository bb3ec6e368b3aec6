# frozen_string_literal: true

require "fileutils"
require_relative "debian_source"

module Godwit
  # libzmq's own perf tools, compiled from Debian's source package of zeromq3. The programs and the
  # script `generate_csv.sh` are kept in the user's cache.
  module LibzmqPerf
    PROGRAMS = %w[local_lat remote_lat local_thr remote_thr inproc_lat inproc_thr].freeze

    module_function

    # Fetches and compiles them unless they are there.
    # @return [String] folder of the programs and the script
    # @raise [DebianSource::Failure] no network, no compiler
    def fetch
      version = DebianSource.run("pkg-config", "--modversion", "libzmq").strip
      DebianSource.keep("libzmq-perf-#{version}") do |folder, result|
        perf = "#{DebianSource.fetch("zeromq3", folder)}/perf"
        FileUtils.touch("#{perf}/platform.hpp")
        PROGRAMS.each { |name| compile(name, perf) }
        FileUtils.cp([*PROGRAMS, "generate_csv.sh"].map { |name| "#{perf}/#{name}" }, result)
      end
    end

    def compile(name, folder)
      DebianSource.run("g++", "-I.", "#{name}.cpp", "-o", name, "-lzmq", "-lpthread", chdir: folder)
    end
  end
end
