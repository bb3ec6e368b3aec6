# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # A lock for one object, held for a few calls that never wait. Kills are deferred while a thread
    # holds the lock, so that no message is half sent (ADR 15).
    class Lock
      NEVER = {Object => :never}.freeze

      attr_reader :mutex

      def initialize(name)
        @name = name
        @mutex = Mutex.new
      end

      # @raise [Failed] in a trap handler that interrupted the call that holds the lock
      def synchronize
        Thread.handle_interrupt(NEVER) do
          raise Failed.in_handler(@name) if @mutex.owned?
          begin
            acquire
            yield
          ensure
            @mutex.unlock if @mutex.owned?
          end
        end
      end

      private

      def acquire
        @mutex.lock
      rescue ThreadError # this is a trap handler, where Ruby allows only try_lock
        Thread.pass until @mutex.try_lock
      end
    end
  end
end
