# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # A folder that is one process's, until that ends, however it ends: flock(2) on a file in it. A
    # forked child has no part in it.
    # @private
    class Lock
      NAME = "lock"
      # Those of this process; and in a forked child those of its parents, closed. Array's own
      # methods need no lock.
      HELD = [] # standard:disable Style/MutableConstant -- a register

      # A lock goes with the last copy of its descriptor, and a child has copies. A daemon takes
      # over from its parent, which ends then and there.
      # @private
      module AfterFork
        def _fork
          super.tap { |pid| Lock.forget_inherited if pid.zero? }
        end

        def daemon(...)
          Lock.hand_over(File::LOCK_UN)
          super
        rescue
          Lock.hand_over(File::LOCK_EX | File::LOCK_NB)
          raise
        end
      end

      class << self
        # @param folder [String] it is there
        # @return [Lock, nil] nil when another has it
        def take(folder)
          file = File.open(File.join(folder, NAME), File::RDWR | File::CREAT | File::BINARY, 0o600)
          unless file.flock(File::LOCK_EX | File::LOCK_NB) && in_place?(folder, file)
            file.close
            return
          end
          file.truncate(0)
          file.pwrite(Process.pid.to_s, 0)
          if Process.respond_to?(:_fork) && !Process.singleton_class.include?(AfterFork)
            Process.singleton_class.prepend(AfterFork)
          end
          new(folder, file).tap { |lock| HELD << lock }
        rescue Errno::ENOENT
          nil # the folder went meanwhile
        end

        # @return [Boolean] whether the folder was locked by a process that this one was forked from
        def inherited?(folder)
          HELD.any? { |lock| !lock.own? && lock.folder == folder }
        end

        # @return [Boolean]
        def own?(folder)
          HELD.any? { |lock| lock.own? && lock.folder == folder }
        end

        # @return [String, nil] number of the process that has it
        def owner(folder)
          File.read(File.join(folder, NAME))[/\A\d+\z/]
        rescue SystemCallError
          nil
        end

        def forget_inherited
          HELD.each { |lock| lock.close_copy unless lock.own? }
        end

        def hand_over(operation)
          HELD.each { |lock| lock.flock(operation) if lock.own? }
        end

        private

        # Its last owner may have removed it, with the folder.
        def in_place?(folder, file) = File.stat(File.join(folder, NAME)).ino == file.stat.ino
      end

      def initialize(folder, file)
        @folder = folder
        @file = file
        @pid = Process.pid
      end

      attr_reader :folder

      def own? = @pid == Process.pid

      # The folder gets another name.
      # @return [self]
      def move(folder)
        File.rename(@folder, folder)
        @folder = folder
        self
      end

      def release
        return unless own?
        HELD.delete(self)
        # A process that another thread is just starting has a copy until it is a program of its
        # own.
        @file.flock(File::LOCK_UN)
        @file.close
      end

      def flock(operation) = @file.flock(operation)

      # In a child.
      def close_copy = @file.close
    end
    private_constant :Lock
  end
end
