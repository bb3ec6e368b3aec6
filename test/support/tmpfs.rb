# frozen_string_literal: true

module Godwit
  module TestSupport
    # Runs a command that sees a small in-memory file system mounted at a folder. The file system
    # exists as long as the command.
    module Tmpfs
      MOUNT = 'mount -t tmpfs -o "size=$0,mode=755" none "$1" && shift && exec "$@"'
      private_constant :MOUNT

      class << self
        # @return [Array<String>] the command line
        def command(bytes, folder, *command)
          ["unshare", *("--map-root-user" unless Process.uid.zero?), "--mount", "sh", "-c", MOUNT,
            bytes.to_s, folder, *command]
        end

        # @return [String, nil] why this system cannot mount such a file system; nil if it can
        def missing
          return @missing if defined?(@missing)
          said = Dir.mktmpdir do |folder|
            IO.popen(command(65_536, folder, "true"), err: %i[child out], &:read)
          end
          first = said.lines.first&.chomp
          @missing = $?.success? ? nil : "no file system can be mounted here: #{first}"
        rescue SystemCallError => error
          @missing = "no file system can be mounted here: #{error.message}"
        end
      end
    end
  end
end
