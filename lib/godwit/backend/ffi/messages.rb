# frozen_string_literal: true

module Godwit
  class Socket
    # The primitives that move messages over FFI.
    # @private
    module FFIMessages
      BATCH = Constants::BATCH
      private_constant :BATCH

      private

      # True, or false when time is up.
      def _send(message, timeout, _tracker)
        parts = parts_of(message)
        with_error_translation(:send) do
          handle = handle!
          handle.check
          handle.yield_turn
          deadline = Backend::FFI::Clock.deadline(timeout, handle.send_timeout)
          handle.use { handle.begin_send }
          send_waiting(handle, parts, deadline)
        end
      end

      # How many went, from `first` on; it raises only with none of these gone.
      def _send_many(messages, first, timeout)
        sent = 0
        with_error_translation(:send_many) do
          handle = handle!
          handle.check
          if first.zero? && !(handle.plain? && messages.all?(String))
            messages.each { |message| check_message(handle, parts_of(message)) }
          end
          handle.yield_turn
          deadline = Backend::FFI::Clock.deadline(timeout, handle.send_timeout)
          handle.use { handle.begin_send }
          unless first < messages.size && send_waiting(handle, parts_of(messages[first]), deadline)
            next
          end
          sent = 1
          handle.use do
            most = [BATCH, messages.size - first].min
            while sent < most
              sent = handle.send_strings(messages, first + sent, first + most) - first
              break if sent == most
              message = parts_of(messages[first + sent])
              unless sendable?(message) && handle.fits?(message) && !handle.too_large?(message) &&
                  handle.try_send(message).zero?
                break
              end
              sent += 1
            end
            handle.settle_turn
          end
        rescue Backend::FFI::Failed
          raise if sent.zero? # else what went is told, and the next call raises
        end
        sent
      end

      def send_waiting(handle, message, deadline)
        kept = outcome = false
        until outcome == true
          outcome = handle.attempt(deadline, Backend::FFI::WRITABLE) do
            # Each time: another thread may have sent or closed a frame of it.
            check_message(handle, message)
            error = handle.try_send(message)
            if error.zero?
              handle.settle_turn
              next true
            end
            handle.settle
            next :repair if handle.cut?
            raise Backend::FFI::Failed, error unless error == Backend::FFI::EAGAIN
            message = snapshot(message) unless kept || deadline == 0
            kept = true
            Backend::FFI::AGAIN
          end
          return false if Backend::FFI::AGAIN.equal?(outcome)
          _recreate || handle.use { handle.repair } if outcome == :repair
        end
        true
      end

      # What is sent of a Message are its frames.
      def parts_of(message)
        message.is_a?(Message) ? message.instance_variable_get(:@frames) : message
      end

      def sendable?(message)
        return part_sendable?(message) unless message.is_a?(Array)
        !message.empty? && message.all? { |part| part_sendable?(part) }
      end

      def part_sendable?(part)
        return true if part.is_a?(String)
        return false unless part.is_a?(Frame) && (handle = Frame.handle_of(part))
        part.frozen? ? handle.live? : handle.sendable?
      end

      # @raise [Failed]
      def check_message(handle, message)
        unless sendable?(message) && handle.fits?(message)
          (message.is_a?(Array) ? message : [message]).each { |part| check_part(part) }
          raise Backend::FFI::Failed.new(:message, message)
        end
        raise Backend::FFI::Failed, Errno::EMSGSIZE::Errno if handle.too_large?(message)
      end

      # @raise [Failed] for a frame that cannot be sent
      def check_part(part)
        return if !part.is_a?(Frame) || part_sendable?(part)
        raise Backend::FFI::Failed.new(part.gone? ? GoneError : Errno::EBUSY::Errno, object: part)
      end

      # Others run while we wait: what was checked must not change under us.
      def snapshot(message)
        case message
        when String then message.dup.freeze
        when Array then message.map { |part| snapshot(part) }
        else message
        end
      end

      # A String, an Array, or nil when time is up.
      def _recv(timeout)
        receive(:recv, timeout) { |handle| handle.try_receive(false) }
      end

      # A Frame, an Array of them, or nil when time is up.
      def _recv_frame(timeout)
        receive(:recv_frame, timeout) { |handle| handle.try_receive(true) }.tap do
          Backend::FFI::Collector.relieve
        end
      end

      def _recv_many(most, timeout)
        receive(:recv_many, timeout) { |handle| handle.try_receive_many(most, false) }
      end

      def _recv_frames(most, timeout)
        receive(:recv_frames, timeout) { |handle| handle.try_receive_many(most, true) }.tap do
          Backend::FFI::Collector.relieve
        end
      end

      # Bytes; an Array of frames when the message has several; nil when time is up.
      def _recv_into(buffer, timeout)
        message = receive(:recv_into, timeout) do |handle|
          # one that is frozen, also while we waited, raises before a message is taken
          if buffer.frozen?
            raise FrozenError.new("can't modify frozen String: #{buffer.inspect}", receiver: buffer)
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
          raise Backend::FFI::Failed, Backend::FFI::ENOTSUP if handle.publisher?
          handle.yield_turn
          deadline = Backend::FFI::Clock.deadline(timeout, handle.receive_timeout)
          handle.use { handle.peers&.stop } if handle.peers
          handle.attempt(deadline, Backend::FFI::READABLE) { yield handle }
        end
        outcome unless Backend::FFI::AGAIN.equal?(outcome)
      end

      # Those of `events` that libzmq has, or nil when time is up. Takes no message.
      def _wait(events, timeout)
        outcome = with_error_translation(:wait) do
          handle = handle!
          handle.attempt(Backend::FFI::Clock.deadline(timeout), events) do
            ready = public_events(handle, handle.events) & events
            handle.settle # the message stays: others in line may take it
            ready.zero? ? Backend::FFI::AGAIN : ready
          end
        end
        outcome unless Backend::FFI::AGAIN.equal?(outcome)
      end
    end

    include FFIMessages
  end
end
