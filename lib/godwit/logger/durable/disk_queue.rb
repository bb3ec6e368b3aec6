# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # The records of one writer on the disk, in order, until the receiver or libzmq has them: a
    # folder with a lock, an id and segment files. The id and the sequence numbers (seqs) continue
    # after a restart.
    #
    # One thread calls {peek}, {sent_to} and {rewind}. Any thread may append and release.
    class DiskQueue
      ID = "id"
      BEGUN = ".begun"
      FORM = /\A\h{32}\z/

      class << self
        # Opens the queue in the folder itself. A forked child, whose parent has locked the folder,
        # opens a queue in a subfolder.
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

        # Makes a queue in a new subfolder, which gets its final name once it is locked, so that no
        # other process adopts it.
        def within(folder, **options, &block)
          id = SecureRandom.hex(16)
          inner = File.join(folder, id)
          Dir.mkdir(begun = "#{inner}#{BEGUN}", 0o700)
          begin
            lock = Lock.take(begun)
          rescue SystemCallError # the disk is full
            FileUtils.rm_rf(begun)
            raise
          end
          lock.move(inner)
          Files.sync(folder) if options[:fsync]
          new(inner, lock, id: id, inner: true, **options, &block)
        end

        # Adopts the subfolders of ended processes, and removes the empty ones.
        def leftovers(folder)
          begun = Dir.glob("*#{BEGUN}", base: folder).map { |name| File.join(folder, name) }
          old = Time.now - 60
          begun.each { |name| FileUtils.rm_r(name) if File.lstat(name).mtime < old }
          inners = Dir.children(folder).grep(FORM).map { |name| File.join(folder, name) }
          inners.sort_by { |inner| File.lstat(inner).mtime }.filter_map { |inner| adopt(inner) }
        rescue SystemCallError => error
          # Another process removed a subfolder, or the whole folder was deleted.
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
          fresh.each { |one| Files.sync(File.dirname(one)) } if fsync
        end

        # @return [DiskQueue, nil] nil if the queue is empty or locked, or cannot be read
        def adopt(inner)
          lock = !Lock.own?(inner) && Lock.take(inner) or return
          queue = new(inner, lock, id: File.basename(inner), inner: true)
          return queue unless queue.empty?
          queue.remove
          nil
        rescue SystemCallError
          nil
        end

        def busy(folder)
          Errors.build(BusyError, :open, folder, "process #{Lock.owner(folder) || "unknown"} " \
            "uses it: give each logger a folder of its own")
        end
      end

      extend Forwardable

      # @param inner [Boolean] whether {#close} removes the folder if the queue is empty
      def initialize(folder, lock, id: nil, inner: false, **options, &block)
        @folder = folder
        @lock = lock
        @inner = inner
        @id = id || read_id || write_id(SecureRandom.hex(16))
        @segments = SegmentedLog.new(folder, **options, &block)
        rewind(@segments.released)
      rescue SystemCallError
        lock.release
        raise
      end

      attr_reader :id, :folder
      attr_reader :sent # seq up to which the records have been sent
      def_delegators :@segments, :append, :release, :released, :last, :bytes, :empty?,
        :released_in_first

      # @return [Integer] records that have not been sent; counts a seq without a record, too
      def unsent = [last - @sent, 0].max
      def deleted? = !File.exist?(File.join(@folder, Lock::NAME))

      # @return [SegmentedLog::Chunk, nil] the next entries that were not sent; nil: there are none
      def peek(most) = @next ||= @segments.read(@cursor ||= @segments.after(@sent), most)

      # Notes that all entries that {peek} returned have been sent, up to this seq.
      def sent_to(seq)
        @sent = seq
        return unless @next && seq >= @next.last
        @cursor = @next.cursor
        @next = nil
      end

      # Marks the entries after this seq as not sent: {peek} returns them again.
      def rewind(seq)
        @sent = seq
        @next = @cursor = nil
      end

      # Gives the queue a new id: the receiver has other records with the old id and the same seqs.
      def rename = @id = write_id(SecureRandom.hex(16))

      def close
        return @segments.close_files unless @lock.own?
        @segments.close
        (@inner && empty?) ? remove : @lock.release
      end

      # Removes the folder and all files in it.
      def remove
        @segments.close
        FileUtils.rm_r(@folder)
      rescue SystemCallError
        nil # the next start deletes the folder
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
    private_constant :DiskQueue
  end
end
