# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # The primitives of a poller.
    module PollerPrimitives
      include Failures

      Member = Struct.new(:object, :io, :watch)
      POLL_INTERVAL = Constants::IO_POLL_INTERVAL
      private_constant :Member, :POLL_INTERVAL

      private

      def _open
        raise "this poller is open already" if @handle
        with_error_translation(:new) { @handle = PollerHandle.new }
        # The handle's lock guards both. It is never held while a socket's is taken.
        @members = {}.compare_by_identity # object => Member
        @watched = {}.compare_by_identity # Watch => Member
        ObjectSpace.define_finalizer(self, ProcessEnd.finalizer(@handle))
        self
      end

      def handle!
        raise Failed, ClosedError unless @handle
        @handle.check
        @handle
      end

      def _close
        return unless closes?(@handle)
        with_error_translation(:close) do
          members = @handle.locked { @members.values }
          members.each { |member| leave(member) }
          @handle.close
          @handle.locked { [@members, @watched].each(&:clear) }
        end
        nil
      end

      def _closed? = @handle.nil? || @handle.closed?

      def _waiters = @handle ? @handle.waiters : 0

      def _forked? = !@handle.nil? && @handle.forked?

      # @return [Boolean] false when it is registered already
      def _register(object, io, events)
        with_error_translation(:register) do
          handle = handle!
          socket = Backend::FFI.handle_of(object) unless io
          raise Failed.new(ClosedError, object: object) if !io && (socket.nil? || socket.closed?)
          fd = descriptor_for(object, io, events) if io
          watch = handle.add(events, !io)
          member = Member.new(object, io, watch)
          unless enter(member)
            handle.remove(watch)
            next false
          end
          begin
            # A socket's descriptor is its own only while it cannot be closed.
            if io
              attach(watch, fd, object)
            else
              socket.use { attach(watch, socket.fd, object) && socket.watch(watch) }
            end
            watch.touch
            whole = true
          ensure
            unless whole
              forget(member)
              watch.retire
              handle.remove(watch)
            end
          end
          true
        end
      end

      # @return [Boolean] false when the object has a place already
      def enter(member)
        @handle.locked do
          next false if @members[member.object]
          @watched[member.watch] = @members[member.object] = member
        end
      end

      # @return [Boolean] whether it was there
      def forget(member)
        @handle.locked do
          next false unless @members[member.object].equal?(member)
          @watched.delete(member.watch)
          @members.delete(member.object)
          true
        end
      end

      def member(object) = @handle.locked { @members[object] }

      # False, unless another thread has closed the poller since: that takes out all.
      def absent
        handle!
        false
      end

      # A trap handler may interrupt a call that holds the lock: Loop#stop and Loop#post work there.
      # @return [Boolean] false when it is not registered
      def _modify(object, events)
        with_error_translation(:modify) do
          member = handle!.guarded { @members[object] } or next absent
          watch = member.watch
          before = watch.events
          if member.io
            fd = descriptor_for(object, open_io(member), events)
            watch.detach if fd != watch.fd
            watch.events = events
            begin
              attach(watch, fd, object)
            rescue Failed
              watch.events = before
              raise
            end
          end
          watch.events = events
          watch.touch
          true
        end
      end

      # @return [Boolean] false when it is not registered
      def _remove(object)
        with_error_translation(:remove) do
          handle!
          member = member(object) or next absent
          leave(member)
          there = forget(member)
          @handle.remove(member.watch)
          there || absent
        end
      end

      # @return [Array] object, events, object, events…
      def _members(operation)
        with_error_translation(operation) do
          members = handle!.locked do
            @members.flat_map { |object, member| [object, member.watch.events] }
          end
          handle! # another thread that has closed the poller since has taken out all
          members
        end
      end

      # @return [Array, nil] object, events, object, events…; nil when time is up
      def _wait(timeout)
        with_error_translation(:wait) do
          handle = handle!
          handle.check if handle.yield_turn
          deadline = Clock.deadline(timeout)
          ios = ios(handle)
          if deadline.nil? && handle.locked { @members.empty? }
            handle.check
            raise Failed.new(PollerError, "nothing is registered, so this would wait for ever: " \
              "register something, or give a timeout")
          end
          # The epoll reports neither a closed IO nor bytes in Ruby's own buffer.
          ios.each { |member| member.watch.touch }
          loop do
            ready = ask_due(handle)
            break ready unless ready.empty?
            break unless pause_and_look(handle, deadline)
          end
        end
      end

      # The close of an IO wakes no waiting thread, so with IOs the thread looks now and then.
      def pause_and_look(handle, deadline)
        ios = ios(handle)
        look = Clock.deadline(POLL_INTERVAL) if ios.any?
        return pause(handle, deadline) if look.nil? || (deadline && deadline <= look)
        pause(handle, look) || ios.each { |member| member.watch.touch if member.io.closed? }
        true
      end

      def ios(handle) = handle.locked { @members.each_value.select(&:io) }

      def ask_due(handle)
        handle.collect.each_with_object([]) do |(watch, stamp), ready|
          member = handle.locked { @watched[watch] } or next handle.settle(watch, stamp)
          bits = member.io ? ask_io(member) : ask_socket(member)
          bits.zero? ? handle.settle(watch, stamp) : ready.push(member.object, bits)
        end
      end

      # Linux allows 500 epolls over one that holds others, and 100 where a scheduler has an epoll
      # of its own over them.
      def pause(handle, deadline)
        handle.pause(deadline)
      rescue Failed, Errno::EINVAL, Errno::ELOOP => error
        number = error.is_a?(Failed) ? error.what : error.errno
        raise unless [Errno::EINVAL::Errno, Errno::ELOOP::Errno].include?(number)
        raise Failed.new(PollerError, "too many fibers wait on it, for Linux allows some 100: " \
          "let one wait and tell the others, or make more pollers")
      end
    end
  end

  class Poller
    include Backend::FFI::PollerPrimitives
  end
end
