# frozen_string_literal: true

require "logger"

module Godwit
  class Logger < ::Logger
    # fsync(2) and inodes of log files.
    # @private
    module Folder
      module_function

      # A file's name survives a power cut once its folder is on the disk.
      def sync(folder)
        File.open(folder, File::RDONLY, &:fsync)
      rescue SystemCallError, IOError
        nil # not every system can sync a folder
      end

      # @return [Integer, nil] nil when the file was just deleted, or is a dangling link
      def inode(path)
        File.stat(path).ino
      rescue SystemCallError
        nil
      end

      # JRuby has no fdatasync.
      def sync_file(file) = file.respond_to?(:fdatasync) ? file.fdatasync : file.fsync
    end
    private_constant :Folder
  end
end
