# frozen_string_literal: true

require "fileutils"

module Godwit
  module TestSupport
    # Compiles czmq_tool.c, a program that uses CZMQ, to tmp/interop/czmq_tool.
    module Czmq
      FOLDER = File.expand_path("../../tmp/interop", __dir__)

      module_function

      # @return [String, nil] why the program cannot be built; nil: it can
      def missing
        return @missing if defined?(@missing)
        there = system("pkg-config", "--exists", "libczmq", out: File::NULL, err: File::NULL)
        @missing =
          there ? nil : "CZMQ is not there: pkg-config knows no libczmq (Debian: libczmq-dev)"
      end

      # Builds the program under another name first, so that a simultaneous run of the tests starts
      # no incomplete file.
      # @return [String] path of the program
      def program
        @program ||= begin
          FileUtils.mkdir_p(FOLDER)
          flags = IO.popen(%w[pkg-config --cflags --libs libczmq libzmq], &:read).split
          path = "#{FOLDER}/czmq_tool"
          fresh = "#{path}.#{Process.pid}"
          system("cc", "-O1", "-Wall", "-Wextra", "-Werror", "-o", fresh, "#{__dir__}/czmq_tool.c",
            *flags, exception: true)
          File.rename(fresh, path)
          path
        end
      end

      def hex(bytes) = bytes.empty? ? "-" : bytes.unpack1("H*")
    end
  end
end
