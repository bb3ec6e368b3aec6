# frozen_string_literal: true

require_relative "folder"

module Godwit
  class Logger < ::Logger
    # Appends to a file whole or not at all: {Sink}, {SegmentedLog} and a receiver's journal.
    # @private
    module Append
      class << self
        # @param bytes [String]
        # @param fsync [Boolean] fdatasync(2) afterwards
        # @yieldparam error [SystemCallError]
        # @yieldparam done [Integer] bytes that are in the file: the block takes them back
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
