# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # The primitives of a socket that move messages.
    module SocketPrimitives
      BATCH = Constants::BATCH
      CUT = "a peer vanished in the middle of this request, and a bound REQ cannot be recreated: " \
        "close the socket"
      private_constant :BATCH, :CUT

      private

      # @return [Boolean] false when time is up
      def _send(message, timeout, _tracker)
        parts = parts_of(message)
        sending(:send, timeout) { |handle, deadline| send_waiting(handle, parts, deadline) }
      end

      # @return [Integer] how many went, from `first` on; it raises only with none of these gone
      def _send_many(messages, first, timeout)
        sent = 0
        sending(:send_many, timeout) do |handle, deadline|
          if first.zero? && !(handle.takes_string? && messages.all?(String))
            messages.each { |message| check_message(handle, parts_of(message)) }
          end
          next unless first < messages.size &&
            send_waiting(handle, parts_of(messages[first]), deadline)
          sent = 1
          handle.use do
            most = [BATCH, messages.size - first].min
            while sent < most
              sent = handle.send_strings(messages, first + sent, first + most) - first
              break if sent == most
              message = parts_of(messages[first + sent])
              check_message(handle, message)
              break unless handle.try_send(message).zero?
              sent += 1
            end
            handle.settle_turn
          end
        rescue Failed
          raise if sent.zero? # else the next call raises
        end
        sent
      end

      # Runs the block with the handle and the deadline, ready to send.
      def sending(operation, timeout)
        with_error_translation(operation) do
          handle = handle!
          handle.check
          handle.yield_turn
          _stop_looking if handle.stop_looking?
          handle.use { handle.begin_send }
          yield handle, Clock.deadline(timeout, handle.send_timeout)
        end
      end

      def send_waiting(handle, message, deadline)
        kept = outcome = false
        until outcome == true
          outcome = handle.attempt(deadline, WRITABLE, socket: self) do
            next :cut if handle.cut?
            # Each time: another thread may have sent or closed a frame of it.
            check_message(handle, message)
            error = handle.try_send(message)
            if error.zero?
              handle.settle_turn
              next true
            end
            next :cut if handle.cut?
            raise Failed, error unless error == EAGAIN
            message = snapshot(message) unless kept || deadline == 0
            kept = true
            AGAIN
          end
          return false if AGAIN.equal?(outcome)
          next unless outcome == :cut
          _recreate or raise Failed.new(StateError, CUT)
        end
        true
      end

      def parts_of(message) = message.is_a?(Message) ? message.frames : message

      # @raise [Failed]
      def check_message(handle, message)
        return if message.is_a?(String) && handle.takes_string?
        parts = message.is_a?(Array) ? message : [message]
        parts.each { |part| check_part(part) }
        message_parts = parts.all? { |part| part.is_a?(String) || part.is_a?(Frame) }
        if parts.empty? || !message_parts || !handle.fits?(message)
          raise Failed.new(:message, message)
        end
      end

      # @raise [Failed] for a frame that cannot be sent
      def check_part(part)
        return unless part.is_a?(Frame)
        handle = Backend::FFI.handle_of(part)
        return if part.frozen? ? handle&.live? : handle&.sendable?
        raise Failed.new(handle&.live? ? Errno::EBUSY::Errno : GoneError, object: part)
      end

      # Other threads run during the wait: a checked message must not change.
      def snapshot(message)
        case message
        when String then message.dup.freeze
        when Array then message.map { |part| snapshot(part) }
        else message
        end
      end

      # @return [String, Array<String>, nil] nil when time is up
      def _recv(timeout)
        receive(:recv, timeout) { |handle| handle.try_receive(false) }
      end

      # @return [Frame, Array<Frame>, nil] nil when time is up
      def _recv_frame(timeout)
        receive(:recv_frame, timeout) { |handle| handle.try_receive(true) }.tap do
          Collector.collect_if_needed
        end
      end

      def _recv_many(most, timeout)
        receive(:recv_many, timeout) { |handle| handle.try_receive_many(most, false) }
      end

      def _recv_frames(most, timeout)
        receive(:recv_frames, timeout) { |handle| handle.try_receive_many(most, true) }.tap do
          Collector.collect_if_needed
        end
      end

      # @return [Integer, Array<String>, nil] bytes; the frames when the message has several; nil
      #   when time is up
      def _recv_into(buffer, timeout)
        message = receive(:recv_into, timeout) do |handle|
          # Before a message is taken; it may have been frozen during the wait.
          if buffer.frozen?
            problem = "can't modify frozen String: #{buffer.inspect}"
            raise FrozenError.new(problem, receiver: buffer)
          end
          handle.try_receive(false)
        end
        return message unless message.is_a?(String)
        buffer.replace(message)
        message.bytesize
      end

      def receive(operation, timeout)
        outcome = with_error_translation(operation) do
          handle = handle!
          handle.check
          raise Failed, ENOTSUP if handle.publisher?
          handle.yield_turn
          _stop_looking if handle.stop_looking?
          handle.use { handle.stop_counting } if handle.counted?
          deadline = Clock.deadline(timeout, handle.receive_timeout)
          handle.attempt(deadline, READABLE, socket: self) { yield handle }
        end
        outcome unless AGAIN.equal?(outcome)
      end

      # @return [Integer, nil] those of `events` that the socket has; nil when time is up
      def _wait(events, timeout)
        outcome = with_error_translation(:wait) do
          handle = handle!
          handle.attempt(Clock.deadline(timeout), events) do
            ready = public_events(handle, handle.events) & events
            ready.zero? ? AGAIN : ready
          end
        end
        outcome unless AGAIN.equal?(outcome)
      end
    end
  end
end
