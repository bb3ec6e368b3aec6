# frozen_string_literal: true

module Godwit
  module Work
    # Closes the files of this process's engines before `Process.daemon` forks. A daemon does not
    # inherit the locks of its parent, and SQLite in the daemon would believe that it has them.
    # @private
    module Daemon
      ENGINES = ObjectSpace::WeakMap.new # each with itself, as ForkDetector::OF_PARENT

      # Ruby forks here without `_fork`, which is what the sqlite3 gem knows.
      # @private
      module Hook
        def daemon(*) = Daemon.without_files(ENGINES.keys) { super }
      end

      # @param engines [Array<SqliteEngine>] whose files are closed while the block runs
      def self.without_files(engines, &block)
        engine, *others = engines
        engine ? engine.without_file { without_files(others, &block) } : yield
      end
      Process.singleton_class.prepend(Hook)
    end
  end
end
