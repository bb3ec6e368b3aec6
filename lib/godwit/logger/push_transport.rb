# frozen_string_literal: true

require_relative "packing"

module Godwit
  class Logger < ::Logger
    # Where a sender puts its records: a PUSH socket. Records that wait go together in one message.
    # Another transport (a spool) has the same methods. Only the sender calls {#open}, {#deliver}
    # and {#wait}; {#close} is called once the sender has ended.
    # @private
    class PushTransport
      # Bytes of records in one message, at most; a longer record is a message of its own.
      BATCH_BYTES = 64 << 10
      # libzmq writes 8 KiB at once; a message has 100 bytes or more.
      WRITTEN_AT_ONCE = 100
      private_constant :BATCH_BYTES, :WRITTEN_AT_ONCE

      def initialize(settings)
        @settings = settings
        @heard = @full = false
        @sent = @messages = @large_bytes = 0
        @recent = [] # records in each of the last messages
        @large = [] # of messages that libzmq has in place: a tracker and the bytes
      end

      # @return [Integer] records that libzmq took
      attr_reader :sent

      # @return [Integer] messages that libzmq took
      attr_reader :messages

      # @return [Integer] messages that libzmq may hold for one reader: those in its queue, and
      #   those that it is writing
      def depth = hwm + WRITTEN_AT_ONCE

      # @return [Integer] records that libzmq may hold in its queue
      def held = @settings.plain? ? hwm : @recent.sum

      # @return [Boolean] after {#close}: whether libzmq had passed on all that it had taken, as far
      #   as can be told
      attr_reader :emptied

      # Makes the socket, if it is not there.
      # @raise [Error]
      def open
        return if @socket
        refuse_child if @settings.bind? && @settings.pid != Process.pid
        @own_context = Context.new if own_context?
        @socket = PUSH.new(context: @own_context || shared_context, **@settings.options)
        @settings.bind? ? @socket.bind(@settings.endpoint) : @socket.connect(@settings.endpoint)
        @heard = inproc?
      rescue
        close(0)
        raise
      end

      # Hands over as many as go without waiting. None before a reader has been there: a writer that
      # ends before that can tell how many were lost.
      # @param records [Array<String, Array<String>>] packed records (see {Packing}), and lines as
      #   messages of one frame
      # @param from [Integer] index of the first
      # @return [Integer] how many went
      def deliver(records, from)
        open
        index = from
        while @heard && index < records.size
          count =
            (
              if records[index].is_a?(::String)
                send_records(records, index)
              else
                send_lines(records, index)
              end
            )
          break if count.zero?
          index += count
        end
        @full = @heard && index < records.size
        index - from
      rescue ClosedError, ContextTerminatedError
        abandon
        index ? index - from : 0
      ensure
        @sent += index - from if index
      end

      # Waits until some may go. Interrupts end it.
      # @param seconds [Numeric, nil] nil: for ever
      # @return [Boolean] false when time is up
      def wait(seconds = nil)
        return true unless @socket # the next try opens one
        return @large.first.first.wait(seconds) if @crowded
        return !@socket.wait_writable(seconds).nil? if @heard
        @socket.wait_connected(timeout: seconds)
        @heard = true
      rescue TimeoutError
        false
      rescue ClosedError, ContextTerminatedError
        abandon
        true
      end

      # @return [Boolean] whether something waits on a disk
      def backlog? = false

      # @return [Integer] records on a disk
      def spooled = 0

      # @return [Integer] records that were on a disk, and are gone
      def lost = 0

      # @param seconds [Numeric] in which what libzmq holds may still go
      # @return [Boolean] whether it all went, as far as can be told
      def close(seconds)
        return true unless @socket || @own_context
        linger = @heard ? [seconds, Context::BRIEF_LINGER].max : 0
        finish = Timeout.now + linger
        if @socket
          @socket.linger = linger
          @socket.close
        end
        @own_context&.close
        @emptied = !@heard || Timeout.now < finish
        @emptied || seconds.zero? && !@full
      rescue Error
        false # the context that was given is gone
      ensure
        @socket = @own_context = nil
      end

      # @return [String, nil] the endpoint that it is bound to
      def last_endpoint = @socket&.last_endpoint

      private

      def hwm = @settings.options.fetch(:send_hwm)

      # Packs those that wait into one message. A record that waits alone goes as its three frames.
      # @return [Integer] how many records went
      def send_records(records, from)
        batch, count = Native::Packing.join(records, from, BATCH_BYTES)
        message = (count > 1) ? [Packing::BATCH, batch] : Packing.frames(records[from])
        return 0 if (large?(message) ? send_large(message) : send_small([message])).zero?
        @recent.shift if @recent.size > hwm
        @recent << count
        count
      end

      # @return [Integer] how many lines went
      def send_lines(lines, from)
        return send_large(lines[from]) if large?(lines[from])
        index = from + 1
        index += 1 until index == lines.size || lines[index].is_a?(::String) || large?(lines[index])
        send_small(lines[from...index])
      end

      # @return [Integer] how many messages went
      def send_small(messages)
        count = @socket.__send__(:_send_many, messages, 0, 0)
        @messages += count
        count
      end

      def large?(message) = message.any? { |frame| frame.bytesize >= Settings::LARGE }

      # @return [Integer] 1, or 0 when there is no room, or libzmq has as many bytes as it may
      def send_large(message)
        bytes = message.each(&:freeze).sum(&:bytesize)
        @large_bytes -= @large.shift.last while @large.any? && @large.first.first.done?
        return 0 if (@crowded = @large.any? && @large_bytes + bytes > @settings.large_bytes)
        tracker = @socket.send(message, track: true, timeout: 0, exception: false) or return 0
        @large << [tracker, bytes]
        @large_bytes += bytes
        @messages += 1
        1
      end

      # libzmq would take an ipc path from the parent.
      def refuse_child
        raise Errors.build(
          ForkedError,
          :bind,
          @settings.endpoint,
          "the parent process is bound to it; have the reader bind, then every process may " \
          "connect"
        )
      end

      # The program closed the context that it gave: the next socket has one of its own.
      def abandon
        @socket = nil
        @large = []
        @large_bytes = 0
        @heard = false
      end

      def inproc? = @settings.endpoint.start_with?("inproc:")

      # One of the parent's is none in a forked child.
      def own_context? = !inproc? && !@settings.context&.usable?

      def shared_context = @settings.context&.usable? ? @settings.context : Godwit.context
    end
    private_constant :PushTransport
  end
end
