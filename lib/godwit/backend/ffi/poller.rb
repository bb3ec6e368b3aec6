# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # The primitives of a poller.
    module PollerPrimitives
      include Failures

      private

      def _open
        @handle = PollSet.new
        self
      end

      def poll_set
        @handle or raise Failed, ClosedError
      end

      def _close
        with_error_translation(:close) { @handle&.close }
        nil
      end

      def _closed? = @handle.nil? || @handle.closed?

      def _waiters = @handle ? @handle.waiters.size : 0

      def _forked? = false

      def _register(object, io, events)
        with_error_translation(:register) { poll_set.add(object, io, events) }
      end

      def _modify(object, events)
        with_error_translation(:modify) { poll_set.modify(object, events) }
      end

      def _remove(object) = with_error_translation(:remove) { poll_set.remove(object) }

      def _members(operation) = with_error_translation(operation) { poll_set.members }

      def _wait(timeout) = with_error_translation(:wait) { poll_set.wait(Clock.deadline(timeout)) }
    end
  end
end
