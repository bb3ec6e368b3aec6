# frozen_string_literal: true

require "fileutils"
require "securerandom"
require_relative "segmented_log"
require_relative "lock"

module Godwit
  class Logger < ::Logger
    # A folder with the records of one writer: its lock, its id, and segments. The id and the seq
    # continue after a restart.
    class Store
      ID = "id"
      BEGUN = ".begun"
      FORM = /\A\h{32}\z/

      class << self
        # Opens the folder itself. In a forked child, whose parent has the folder, opens one within.
        # @raise [BusyError] when another process uses it
        def open(folder, **options, &block)
          make(folder, options[:fsync])
          folder = File.realpath(folder)
          Lock.forget_parent
          lock = !Lock.own?(folder) && Lock.take(folder)
          return new(folder, lock, **options, &block) if lock
          raise busy(folder) unless Lock.inherited?(folder)
          within(folder, **options, &block)
        rescue SystemCallError => error
          raise if error.is_a?(Error)
          raise Errors.build(error.errno, :open, folder)
        end

        # Makes a folder within. It gets its name once it is locked, so that no process takes it
        # over.
        def within(folder, **options, &block)
          id = SecureRandom.hex(16)
          inner = File.join(folder, id)
          Dir.mkdir(begun = "#{inner}#{BEGUN}", 0o700)
          begin
            lock = Lock.take(begun)
          rescue SystemCallError # a full disk
            FileUtils.rm_rf(begun)
            raise
          end
          lock.move(inner)
          Folder.sync(folder) if options[:fsync]
          new(inner, lock, id: id, inner: true, **options, &block)
        end

        # Takes over the folders within that ended processes left, and removes the empty ones.
        def leftovers(folder)
          begun = Dir.glob("*#{BEGUN}", base: folder).map { |name| File.join(folder, name) }
          old = Time.now - 60
          begun.each { |name| FileUtils.rm_r(name) if File.lstat(name).mtime < old }
          inners = Dir.children(folder).grep(FORM).map { |name| File.join(folder, name) }
          inners.sort_by { |inner| File.lstat(inner).mtime }.filter_map { |inner| take_over(inner) }
        rescue SystemCallError => error
          # Another process removed a folder within, or the whole folder was deleted.
          (error.is_a?(Errno::ENOENT) && File.directory?(folder)) ? retry : []
        end

        private

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

        # @return [Store, nil] nil also for a folder that cannot be read: others follow
        def take_over(inner)
          lock = !Lock.own?(inner) && Lock.take(inner) or return
          store = new(inner, lock, id: File.basename(inner), inner: true)
          return store unless store.segments.empty?
          store.remove
          nil
        rescue SystemCallError
          nil
        end

        def busy(folder)
          Errors.build(BusyError, :open, folder, "process #{Lock.owner(folder) || "unknown"} " \
            "uses it: give each logger a folder of its own")
        end
      end

      # @param inner [Boolean] whether to remove the folder once all in it is released
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

      attr_reader :id, :folder, :segments
      # Takes a new id, for records that the receiver cannot tell from others of the old id.
      def rename = @id = write_id(SecureRandom.hex(16))

      def close
        return @segments.close_files unless @lock.own?
        @segments.close
        (@inner && @segments.empty?) ? remove : @lock.release
      end

      # Removes the folder with all that is in it.
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
        path = File.join(@folder, ID)
        File.read(path)[FORM] if File.exist?(path)
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
