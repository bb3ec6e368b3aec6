# frozen_string_literal: true

require_relative "folder"

module Godwit
  class Logger < ::Logger
    # Writes to the files of {Sink}, {SegmentedLog} and {Journal}; the caller removes torn bytes.
    # @private
    module Append
      class << self
        # @param fsync [Boolean] fdatasync(2) afterwards
        # @yieldparam done [Integer] bytes that are in the file, which the block has to remove
        # @raise [SystemCallError] after the block, unless that raises another
        def write(file, bytes, fsync:)
          done = 0
          size = bytes.bytesize
          done += file.syswrite(done.zero? ? bytes : bytes.byteslice(done..)) while done < size
          Folder.sync_file(file) if fsync
        rescue SystemCallError => error
          yield error, done
          raise
        end

        # @return [Boolean] false: the torn bytes are still there
        def truncate(file, size)
          file.truncate(size)
          true
        rescue SystemCallError
          false
        end
      end
    end
    private_constant :Append
  end
end
