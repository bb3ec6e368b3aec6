# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # File operations of the logger: checks of paths, appends, and syncs against a power cut.
    module Files
      module_function

      def checked_path(path, operation, argument, wanted = "the path of a file")
        path = path.to_path if path.respond_to?(:to_path)
        raise Errors.bad_type(operation, argument, wanted, path) unless path.is_a?(::String)
        return path.dup.freeze unless path.empty? || path.include?("\0")
        raise Errors.bad_value(operation, argument, wanted, path)
      end

      # Syncs the folder: before that, a power cut may remove the name of a new file.
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

      # Appends bytes to a file of a {Sink}, a {SegmentedLog} or a {Journal}.
      # @yieldparam done [Integer] bytes of a failed write that the file has; the block removes them
      def append(file, bytes, fsync:)
        done = 0
        size = bytes.bytesize
        done += file.syswrite(done.zero? ? bytes : bytes.byteslice(done..)) while done < size
        sync_file(file) if fsync
      rescue SystemCallError => error
        yield error, done
        raise
      end

      def truncate(file, size)
        file.truncate(size)
        true
      rescue SystemCallError
        false
      end
    end
    private_constant :Files
  end
end
