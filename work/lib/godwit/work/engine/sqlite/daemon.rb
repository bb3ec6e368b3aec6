# frozen_string_literal: true

module Godwit
  module Work
    # Closes the files of this process's logs before `Process.daemon` forks. A daemon does not
    # inherit the locks of its parent, and SQLite in the daemon would believe that it has them.
    # @private
    module Daemon
      FILES = WeakSet.new

      # Process.daemon forks without `_fork`, which the sqlite3 gem overrides.
      # @private
      module Hook
        def daemon(*) = Daemon.without_connections(FILES.to_a) { super }
      end

      # @param files [Array<SqliteFile>]
      def self.without_connections(files, &block)
        file, *others = files
        file ? file.without_connections { without_connections(others, &block) } : yield
      end
      Process.singleton_class.prepend(Hook)
    end
  end
end
