# frozen_string_literal: true

require "open3"
require "rbconfig"

module Godwit
  module TestSupport
    # Compiles windows.c, the shim, once a run. A child process loads the shim before libzmq, so its
    # calls go to the shim first. The FFI backend calls one library only: the shim, which has loaded
    # libzmq.
    module Shim
      SOURCE = File.join(__dir__, "windows.c")

      # @return [String] path of the library; or raises Minitest::Skip with the reason
      def self.path
        @path ||= begin
          directory = Dir.mktmpdir("godwit-shim-")
          owner = Process.pid
          at_exit { FileUtils.remove_entry(directory) if Process.pid == owner }
          built = File.join(directory, "windows.so")
          command = [
            *RbConfig::CONFIG.fetch("CC", "cc").split, "-shared", "-fPIC", "-O1", "-o", built,
            SOURCE, "-Wl,--no-as-needed", "-lzmq", "-ldl"
          ]
          output, status = Open3.capture2e(*command)
          unless status.success?
            raise Minitest::Skip, "the shim cannot be built: #{output.lines.first}"
          end
          built
        end
      end

      # The start of a child's program that calls the shim's functions.
      PRELUDE = <<~RUBY
        require "godwit"
        require "./test/native/shim/windows"
      RUBY

      # @return [Hash] environment of a child that loads the shim, with these delays
      def self.windows(**microseconds)
        {"LD_PRELOAD" => path, "GODWIT_LIBZMQ" => path}.merge(
          microseconds.to_h { |name, value| ["WINDOW_#{name.upcase}", value.to_s] }
        )
      end
    end
  end
end
