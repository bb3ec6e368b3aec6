# frozen_string_literal: true

require "fileutils"
require "securerandom"
require_relative "../segmented_log"
require_relative "lock"

module Godwit
  class Logger < ::Logger
    # A folder with the records of one writer: its lock, its id, and segments. The id stays over
    # restarts, and its seq goes on.
    # @private
    class Store
      ID = "id"
      BEGUN = ".begun"
      FORM = /\A\h{32}\z/

      class << self
        # The folder itself; in a forked child, whose parent has that, one of its own within.
        # @param folder [String] made where it is not there
        # @return [Store]
        # @raise [BusyError] when another process uses it
        # @raise [SystemError]
        def open(folder, **options, &block)
          make(folder, options[:fsync])
          folder = File.realpath(folder)
          Lock.forget_inherited
          lock = !Lock.own?(folder) && Lock.take(folder)
          return new(folder, lock, **options, &block) if lock
          raise busy(folder) unless Lock.inherited?(folder)
          within(folder, **options, &block)
        rescue SystemCallError => error
          raise if error.is_a?(Error)
          raise Errors.build(error.errno, :open, folder)
        end

        # One of its own in any case. It gets its name once it is locked, so that nobody takes it
        # for a leftover.
        # @return [Store]
        def within(folder, **options, &block)
          id = SecureRandom.hex(16)
          inner = File.join(folder, id)
          Dir.mkdir("#{inner}#{BEGUN}", 0o700)
          lock = take_begun("#{inner}#{BEGUN}").move(inner)
          Folder.sync(folder) if options[:fsync]
          new(inner, lock, id: id, inner: true, **options, &block)
        end

        # Takes over what processes left there that are no more.
        # @return [Array<Store>] the oldest first; those with nothing in them are removed
        def leftovers(folder)
          forget_begun(folder)
          inners = Dir.children(folder).grep(FORM).map { |name| File.join(folder, name) }
          inners
            .filter_map { |inner| (time = made(inner)) && [time, inner] }
            .sort
            .filter_map { |_, inner| take_over(inner) }
        rescue SystemCallError
          [] # the folder went
        end

        private

        def take_begun(folder)
          Lock.take(folder)
        rescue SystemCallError # a full disk
          FileUtils.rm_rf(folder)
          raise
        end

        # A power cut may not take the whole folder.
        def make(folder, fsync)
          path = File.expand_path(folder)
          fresh = []
          until File.directory?(path)
            fresh << path
            path = File.dirname(path)
          end
          FileUtils.mkdir_p(folder, mode: 0o700)
          fresh.each { |one| Folder.sync(File.dirname(one)) } if fsync
        end

        def made(inner)
          File.stat(inner).mtime
        rescue SystemCallError
          nil # another took it
        end

        # One that cannot be read stands in no other's way.
        def take_over(inner)
          lock = !Lock.own?(inner) && Lock.take(inner) or return
          store = new(inner, lock, id: File.basename(inner), inner: true)
          return store unless store.segments.empty?
          store.remove
          nil
        rescue SystemCallError
          nil
        end

        def forget_begun(folder)
          old = Time.now - 60
          Dir
            .glob("*#{BEGUN}", base: folder)
            .map { |name| File.join(folder, name) }
            .each { |name| FileUtils.rm_r(name) if File.stat(name).mtime < old }
        end

        def busy(folder)
          owner = Lock.owner(folder)
          Errors.build(
            BusyError, :open, folder,
            "process #{owner || "unknown"} uses it: give each logger a folder of its own"
          )
        end
      end

      # @param inner [Boolean] whether the folder goes once all in it is released
      # @yield [seq, record] as {SegmentedLog#initialize}
      def initialize(folder, lock, id: nil, inner: false, **options, &block)
        @folder = folder
        @lock = lock
        @inner = inner
        @id = id || read_id || write_id(SecureRandom.hex(16))
        @segments = SegmentedLog.new(folder, **options, &block)
      rescue SystemCallError
        lock.release
        raise
      end

      # @return [String] 32 hexadecimal digits
      attr_reader :id
      attr_reader :folder, :segments

      # A new id, for records that the reader cannot tell from others of the old one.
      def rename
        @id = write_id(SecureRandom.hex(16))
      end

      def close
        return @segments.close_files unless @lock.own?
        @segments.close
        (@inner && @segments.empty?) ? remove : @lock.release
      end

      # With all that is in it.
      def remove
        @segments.close
        FileUtils.rm_r(@folder)
      rescue SystemCallError
        nil # the next start tries again
      ensure
        @lock.release
      end

      private

      def read_id
        File.read(File.join(@folder, ID))[FORM]
      rescue Errno::ENOENT
        nil
      end

      def write_id(id)
        path = File.join(@folder, ID)
        File.open("#{path}.new", "w", 0o600) do |file|
          file.write(id)
          file.fsync
        end
        File.rename("#{path}.new", path)
        id
      end
    end
    private_constant :Store
  end
end
