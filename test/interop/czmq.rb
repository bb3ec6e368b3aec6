# frozen_string_literal: true

require "fileutils"

module Godwit
  module TestSupport
    # Programs of CZMQ, built into tmp/ from the C files here.
    module Czmq
      PROGRAMS = File.expand_path("../../tmp/interop", __dir__)

      module_function

      # @return [String, nil] why there can be none
      def missing
        return @missing if defined?(@missing)
        there = system("pkg-config", "--exists", "libczmq", out: File::NULL, err: File::NULL)
        @missing =
          there ? nil : "CZMQ is not there: pkg-config knows no libczmq (Debian: libczmq-dev)"
      end

      # Builds the program in each test process, under another name first: of two simultaneous runs
      # none must start an incomplete file.
      # @param name [String] of its source here, without .c
      # @return [String] its path
      def program(name)
        (@programs ||= {})[name] ||= begin
          FileUtils.mkdir_p(PROGRAMS)
          flags = IO.popen(%w[pkg-config --cflags --libs libczmq libzmq], &:read).split
          path = File.join(PROGRAMS, name)
          fresh = "#{path}.#{Process.pid}"
          system("cc", "-O1", "-Wall", "-Wextra", "-Werror", "-o", fresh,
            File.expand_path("#{name}.c", __dir__), *flags, exception: true)
          File.rename(fresh, path)
          path
        end
      end

      def hex(bytes) = bytes.empty? ? "-" : bytes.unpack1("H*")
    end
  end
end
