# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # The private methods of Socket that call libzmq.
    module SocketPrimitives
      include Failures

      NO_USE_FD = "use_fd needs Godwit's C extension, which JRuby lacks: bind an endpoint instead"
      CUT = "a peer vanished in the middle of this request, and a bound REQ cannot be recreated: " \
        "close the socket"
      EVENTS, TYPE, RECEIVE_TIMEOUT, SEND_TIMEOUT, CONFLATE, LAST_ENDPOINT, USE_FD =
        %i[events type recv_timeout send_timeout conflate last_endpoint use_fd].map do |name|
          Options.fetch(name).id
        end
      MARKS = %i[send_hwm recv_hwm].map { |name| Options.fetch(name).id }.freeze
      private_constant :NO_USE_FD, :CUT, :EVENTS, :TYPE, :RECEIVE_TIMEOUT, :SEND_TIMEOUT, :CONFLATE,
        :LAST_ENDPOINT, :USE_FD, :MARKS

      private

      # Yields the handle of an open socket, and holds the socket's lock meanwhile.
      def with_handle(operation, endpoint = nil)
        with_error_translation(operation, endpoint) { handle!.use { yield @handle } }
      end

      def handle!
        @handle or raise Failed, ClosedError
      end

      # ---- lifetime ----

      def _open(context, type, conflate)
        home = context.opened(:new)
        with_error_translation(:new) { @handle = SocketHandle.new(home, type, conflate) }
        ObjectSpace.define_finalizer(self, ProcessEnd.finalizer(@handle))
        self
      end

      def _reopen
        with_handle(:reopen, &:reopen)
        self
      end

      def _close
        with_error_translation(:close) { @handle&.close }
        nil
      end

      def _closed? = @handle.nil? || @handle.closed?

      def _forked? = !@handle.nil? && !@handle.context.own?

      def _waiters
        return 0 unless @handle
        @handle.waiting.waiters.count { |waiter| !waiter.polls } +
          @handle.monitor.waiting.waiters.size
      end

      # Runs the block. No two threads run such blocks of one socket at the same time. The block may
      # call the socket's methods, so this lock is not the one of {with_handle}.
      def _exclusive(operation, &block)
        return yield unless @handle
        with_error_translation(operation) { @handle.exclusive.synchronize(&block) }
      end

      # Yields the variable's value, and sets the variable to the block's result. The caller holds
      # the lock of {_exclusive}.
      def _record(variable)
        instance_variable_set(variable, yield(instance_variable_get(variable)))
      end

      def _fd = with_handle(:zmq_fd) { |handle| handle.raw.fd }

      def _pointer = with_handle(:pointer) { |handle| handle.raw.address }

      # ---- endpoints ----

      def _bind(endpoint)
        attach(:bind, endpoint) do |handle|
          if Zmq.zmq_bind(handle.raw.pointer, endpoint) < 0
            error = ::FFI.errno
            handle.monitor.bind_failed(endpoint, error)
            raise Failed, error
          end
          handle.raw.get(LAST_ENDPOINT).force_encoding(Encoding::UTF_8)
        end
      end

      {_connect: :connect, _unbind: :unbind, _disconnect: :disconnect}.each do |name, operation|
        define_method(name) do |endpoint|
          attach(operation, endpoint) do |handle|
            code = Zmq.public_send(:"zmq_#{operation}", handle.raw.pointer, endpoint)
            raise Failed, ::FFI.errno if code < 0
          end
          nil
        end
        private name
      end

      def attach(operation, endpoint)
        with_handle(operation, endpoint) do |handle|
          monitor = handle.monitor
          LibC.check_descriptors(Constants::LOOKUP_DESCRIPTORS + (monitor.counts? ? 2 : 0))
          monitor.start_counting
          value = yield handle
          handle.attached = true
          monitor.drain_at_times
          value
        ensure
          handle.waiting.wake # the operation can change pipes without an edge of ZMQ_FD
        end
      end

      # The socket counts its peers from its next bind or connect on.
      def _count_peers
        with_handle(:wait_connected) { |handle| handle.monitor.count_from_now }
        nil
      end

      # @return [Integer, nil] the number of peers, less than `count` when time is up; nil: the
      #   socket does not count its peers
      def _wait_peers(count, timeout)
        now = nil
        with_error_translation(:wait_connected) do
          handle = handle!
          waiting = handle.publisher? ? handle.waiting : handle.monitor.waiting
          waiting.attempt(Clock.deadline(timeout), 0, socket: self) do
            now = handle.publisher? ? handle.sender.count_subscriptions : handle.monitor.count
            (now.nil? || now >= count) ? true : AGAIN
          end
        end
        now
      end

      # ---- options ----

      def _get_option(id)
        with_handle(:get) do |handle|
          case id
          when RECEIVE_TIMEOUT then handle.receiver.timeout
          when SEND_TIMEOUT then handle.sender.timeout
          when TYPE then handle.publisher? ? PUB : handle.type
          when EVENTS then public_events(handle)
          else handle.raw.get(id)
          end
        end
      end

      def _set_option(id, value)
        with_handle(:set) do |handle|
          # libzmq would resize pipes that its I/O thread may be ending. It refuses values below 0.
          raise Failed, StateError if handle.attached && MARKS.include?(id) && value >= 0
          raise Failed.new(UnsupportedError, NO_USE_FD) if id == USE_FD && value >= 0
          handle.raw.set(id, value)
          case id
          when RECEIVE_TIMEOUT then handle.receiver.timeout = value
          when SEND_TIMEOUT then handle.sender.timeout = value
          when CONFLATE then handle.sender.single = value == 1
          end
        ensure
          handle.waiting.wake # the option can make the socket ready without an edge of ZMQ_FD
        end
        nil
      end

      # A PUB is never readable, though the XPUB inside it may be: the XPUB receives subscriptions.
      def public_events(handle)
        events = handle.raw.events
        handle.publisher? ? events & ~READABLE : events
      end

      def _encoding = with_handle(:encoding) { |handle| handle.receiver.encoding }

      def _set_encoding(encoding)
        with_handle(:encoding=) { |handle| handle.receiver.encoding = Encoding.find(encoding) }
      end

      def _copy_threshold = with_handle(:copy_threshold, &:copy_threshold)

      # The copy threshold has no effect, since FFI copies every String.
      def _set_copy_threshold(bytes)
        with_handle(:copy_threshold=) { |handle| handle.copy_threshold = bytes }
      end

      # ---- messages ----

      # @return [Boolean] false when time is up
      def _send(message, timeout, _tracker)
        message = frames_of(message)
        sending(:send, timeout) { |handle, deadline| send_waiting(handle, message, deadline) }
      end

      # @return [Integer] number of sent messages, from index `first` on. Raises if none was sent
      def _send_many(messages, first, timeout)
        sent = 0
        sending(:send_many, timeout) do |handle, deadline|
          sender = handle.sender
          messages.each { |message| sender.check(frames_of(message)) } if first.zero?
          next unless first < messages.size &&
            send_waiting(handle, frames_of(messages[first]), deadline)
          sent = 1
          handle.use do
            most = [Constants::BATCH, messages.size - first].min
            while sent < most
              sent = sender.send_strings(messages, first + sent, first + most) - first
              break if sent == most
              message = frames_of(messages[first + sent])
              sender.check(message)
              break unless sender.try(message).zero?
              sent += 1
            end
            handle.settle_turn
          end
        rescue Failed
          raise if sent.zero? # if a message was sent, only the next call raises the error
        end
        sent
      end

      # Returns the handle for a send or a receive, and ends the diagnosis of an earlier slow wait.
      def handle_for_call
        handle!.tap do |handle|
          handle.check
          _end_diagnosis if handle.slow_wait.over?
        end
      end

      # Prepares a send, and yields the handle and the deadline.
      def sending(operation, timeout)
        with_error_translation(operation) do
          handle = handle_for_call
          handle.use { handle.sender.begin }
          yield handle, Clock.deadline(timeout, handle.sender.timeout)
        end
      end

      def send_waiting(handle, message, deadline)
        sender = handle.sender
        copied = outcome = false
        until outcome == true
          outcome = handle.waiting.attempt(deadline, WRITABLE, socket: self) do
            next :cut if sender.cut?
            sender.check(message)
            error = sender.try(message)
            if error.zero?
              handle.settle_turn
              next true
            end
            next :cut if sender.cut?
            raise Failed, error unless error == EAGAIN
            message = snapshot(message) unless copied || deadline == 0
            copied = true
            AGAIN
          end
          return false if AGAIN.equal?(outcome)
          raise Failed.new(StateError, CUT) if outcome == :cut && !_recreate
        end
        true
      end

      def frames_of(message) = message.is_a?(Message) ? message.frames : message

      # Makes a copy that other threads cannot change during a wait.
      def snapshot(message)
        case message
        when String then message.dup.freeze
        when Array then message.map { |frame| snapshot(frame) }
        else message
        end
      end

      def _recv(timeout)
        receive(:recv, timeout) { |receiver| receiver.try(false) }
      end

      def _recv_frame(timeout)
        receive(:recv_frame, timeout) { |receiver| receiver.try(true) }
      end

      def _recv_many(most, timeout)
        receive(:recv_many, timeout) { |receiver| receiver.try_many(most, false) }
      end

      def _recv_frames(most, timeout)
        receive(:recv_frames, timeout) { |receiver| receiver.try_many(most, true) }
      end

      # Returns the number of bytes; the frames if the message has several; nil when time is up.
      def _recv_into(buffer, timeout)
        message = receive(:recv_into, timeout) do |receiver|
          # A receive into a frozen buffer would lose the message.
          if buffer.frozen?
            problem = "can't modify frozen String: #{buffer.inspect}"
            raise FrozenError.new(problem, receiver: buffer)
          end
          receiver.try(false)
        end
        return message unless message.is_a?(String)
        buffer.replace(message)
        message.bytesize
      end

      def receive(operation, timeout)
        outcome = with_error_translation(operation) do
          handle = handle_for_call
          raise Failed, ENOTSUP if handle.publisher?
          receiver = handle.receiver
          handle.use { handle.begin } unless handle.calm?
          deadline = Clock.deadline(timeout, receiver.timeout)
          handle.waiting.attempt(deadline, READABLE, socket: self) { yield receiver }
        end
        outcome unless AGAIN.equal?(outcome)
      end

      def _wait(events, timeout)
        outcome = with_error_translation(:wait) do
          handle = handle!
          handle.waiting.attempt(Clock.deadline(timeout), events) do
            ready = public_events(handle) & events
            ready.zero? ? AGAIN : ready
          end
        end
        outcome unless AGAIN.equal?(outcome)
      end
    end
  end
end
