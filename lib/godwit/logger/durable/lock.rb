# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # flock(2) on a file in a folder: the folder belongs to one process until the process ends, even
    # by a kill. A forked child does not inherit the lock.
    class Lock
      NAME = "lock"
      # Locks of this process, and of its parents, whose files it has closed. No mutex is needed.
      HELD = [] # standard:disable Style/MutableConstant -- a register

      # Process.daemon ends the parent, so the parent unlocks its folders for the daemon.
      module Daemon
        def daemon(...)
          Lock.hand_over(File::LOCK_UN)
          super
        rescue
          Lock.hand_over(File::LOCK_EX | File::LOCK_NB)
          raise
        end
      end

      class << self
        # @return [Lock, nil] nil when another process has the lock
        def take(folder)
          file = File.open(File.join(folder, NAME), File::RDWR | File::CREAT | File::BINARY, 0o600)
          unless file.flock(File::LOCK_EX | File::LOCK_NB) && in_place?(folder, file)
            file.close
            return
          end
          file.truncate(0)
          file.pwrite(Process.pid.to_s, 0)
          if Process.respond_to?(:_fork) && !Process.singleton_class.include?(Daemon)
            Process.singleton_class.prepend(Daemon)
            ForkDetector::PER_PROCESS.add(self)
          end
          new(folder, file).tap { |lock| HELD << lock }
        rescue Errno::ENOENT
          nil # the folder was deleted meanwhile
        end

        def inherited?(folder) = HELD.any? { |lock| !lock.own? && lock.folder == folder }
        def own?(folder) = HELD.any? { |lock| lock.own? && lock.folder == folder }

        def owner(folder)
          File.read(File.join(folder, NAME))[/\A\d+\z/]
        rescue SystemCallError
          nil
        end

        # A lock lasts until all copies of its descriptor are closed, so a child closes its copies.
        def forget_parent = HELD.each { |lock| lock.file.close unless lock.own? }
        def hand_over(operation) = HELD.each { |lock| lock.file.flock(operation) if lock.own? }

        private

        # The last owner may have removed the file, with its folder, after this process opened it.
        def in_place?(folder, file) = File.stat(File.join(folder, NAME)).ino == file.stat.ino
      end

      def initialize(folder, file)
        @folder = folder
        @file = file
        @pid = Process.pid
      end

      attr_reader :folder, :file
      def own? = @pid == Process.pid

      def move(folder)
        File.rename(@folder, folder)
        @folder = folder
      end

      def release
        return unless own?
        HELD.delete(self)
        # Closing the file would not unlock it: a child that another thread just forks has a copy of
        # the descriptor until its exec.
        @file.flock(File::LOCK_UN)
        @file.close
      end
    end
    private_constant :Lock
  end
end
