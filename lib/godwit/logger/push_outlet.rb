# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # Where a sender puts its messages: a PUSH socket. Another outlet (a spool) has the same methods. Only the sender calls {#open}, {#deliver} and
    # {#wait}, and only who has seen it end calls {#close}.
    # @private
    class PushOutlet
      # libzmq writes 8 KiB at once; a record has 100 bytes or more.
      WRITTEN_AT_ONCE = 100
      private_constant :WRITTEN_AT_ONCE

      def initialize(settings)
        @settings = settings
        @heard = @full = false
        @sent = @large_bytes = 0
        @large = [] # of messages that libzmq has in place: a tracker and the bytes
      end

      # @return [Integer] records that libzmq took
      attr_reader :sent

      # @return [Integer] records that libzmq may hold for one reader: those in its queue, and those of the batch that it is writing
      def depth = @settings.options.fetch(:send_hwm) + WRITTEN_AT_ONCE

      # @return [Boolean] after {#close}: whether libzmq had passed on all that it had taken, as far as can be told
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

      # Hands over as many as go without waiting. None before a reader has been there: who ends before that can tell how many were lost.
      # @param messages [Array]
      # @param from [Integer] index of the first
      # @return [Integer] how many went
      def deliver(messages, from)
        open
        return 0 unless @heard
        index = from
        index += 1 until index == messages.size || large?(messages[index])
        some = (index == messages.size) ? messages : messages.first(index)
        count = (index == from) ? send_large(messages[from]) : @socket.__send__(:_send_many, some, from, 0)
        @full = from + count < index
        @sent += count
        count
      rescue ClosedError, ContextTerminatedError
        abandon
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

      def large?(message)
        return message.bytesize >= Settings::LARGE if message.is_a?(::String)
        message.any? { |frame| frame.bytesize >= Settings::LARGE }
      end

      # @return [Integer] 1, or 0 when there is no room, or libzmq has as many bytes as it may
      def send_large(message)
        frames = Array(message).each(&:freeze)
        bytes = frames.sum(&:bytesize)
        @large_bytes -= @large.shift.last while @large.any? && @large.first.first.done?
        return 0 if (@crowded = @large.any? && @large_bytes + bytes > @settings.large_bytes)
        tracker = @socket.send(message, track: true, timeout: 0, exception: false) or return 0
        @large << [tracker, bytes]
        @large_bytes += bytes
        1
      end

      # libzmq would take an ipc path from the parent.
      def refuse_child
        raise Errors.build(ForkedError, :bind, @settings.endpoint, "the parent process is bound to it; have the reader bind, then every process may connect")
      end

      # The program closed the context that it gave: the next socket has one of its own.
      def abandon
        @socket = nil
        @large = []
        @large_bytes = 0
        @heard = false
        0
      end

      def inproc? = @settings.endpoint.start_with?("inproc:")

      # One of the parent's is none in a forked child.
      def own_context? = !inproc? && !@settings.context&.usable?

      def shared_context = @settings.context&.usable? ? @settings.context : Godwit.context
    end
    private_constant :PushOutlet
  end
end
