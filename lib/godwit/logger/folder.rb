# frozen_string_literal: true

require "logger"

module Godwit
  class Logger < ::Logger
    # What survives a power cut.
    # @private
    module Folder
      module_function

      # A file's name survives a power cut once its folder is on the disk.
      def sync(folder)
        File.open(folder, File::RDONLY, &:fsync)
      rescue SystemCallError, IOError
        nil # a system that cannot
      end

      # @return [Integer, nil] of a file; nil where it has just gone, or is a link to nothing
      def inode(path)
        File.stat(path).ino
      rescue SystemCallError
        nil
      end

      # Its content is on the disk. JRuby has no fdatasync.
      def sync_file(file) = file.respond_to?(:fdatasync) ? file.fdatasync : file.fsync
    end
    private_constant :Folder
  end
end
