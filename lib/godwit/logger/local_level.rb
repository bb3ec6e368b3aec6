# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # A logger's level in one thread and fiber, with the methods of ActiveSupport's loggers. While
    # ActiveSupport is loaded, its `isolation_level` says whether a thread's fibers share the level.
    # Without ActiveSupport each fiber has its own level.
    #
    # **Clones** of a logger share its local levels.
    module LocalLevel
      # The local levels of a logger and its clones.
      class Store
        def initialize
          @key = :"godwit_logger_level_#{object_id}"
          @used = false
        end

        def level = @used ? state[@key] : nil # no lookup, since most programs set no local level

        def level=(level)
          @used = true
          state[@key] = level
        end

        private

        def state
          return Thread.current unless defined?(::ActiveSupport::IsolatedExecutionState)
          ::ActiveSupport::IsolatedExecutionState
        end
      end
      private_constant :Store

      # Logs during the block, in this fiber, only records of this level or above.
      # @param severity [Integer, Symbol] as {#local_level=} accepts it
      # @yieldparam logger [Logger] this logger
      # @return [Object] the block's value
      # @raise [ArgumentError] "Invalid log level: :loud"
      def silence(severity = ::Logger::ERROR) = log_at(severity) { yield self }

      # Sets another level during the block, in this fiber.
      # @param level [Integer, Symbol, nil] as {#local_level=} accepts it
      # @return [Object] the block's value
      # @raise [ArgumentError] "Invalid log level: :loud"
      def log_at(level)
        before = local_level
        self.local_level = level
        begin
          yield
        ensure
          self.local_level = before
        end
      end

      # @return [Integer, nil] the level in this fiber; nil: the logger's level
      def local_level = @local_levels.level

      # @param level [Integer, Symbol, nil] :debug, :info, :warn, :error, :fatal, :unknown, or a
      #   number; nil: the logger's level
      # @raise [ArgumentError] "Invalid log level: :loud"
      def local_level=(level)
        number = (::Symbol === level) ? NAMES[level.downcase] : level
        valid = number.nil? ? level.nil? : ::Integer === number
        raise ArgumentError, "Invalid log level: #{level.inspect}" unless valid
        @local_levels.level = number
      end

      # @return [Integer] this fiber's local level, or else the logger's level
      def level = @local_levels&.level || super

      NAMES = %i[debug info warn error fatal unknown].each_with_index.to_h.freeze
      private_constant :NAMES

      # @private
      def initialize(...)
        @local_levels = Store.new
        super
      end
    end
  end
end
