# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # Sends records to a PUSH socket, several in one message if several wait. {SpoolTransport} has
    # the same methods. Only the sender calls {#open}, {#deliver} and {#wait}; {#close} is called
    # after the sender's end.
    class PushTransport
      # Most bytes of records in one message; a longer record is a message of its own.
      BATCH_BYTES = 64 << 10
      # Most messages in the 8 KiB that libzmq writes at once, if each has about 100 bytes or more.
      WRITTEN_AT_ONCE = 100
      EVENTS = 100 # most monitor events that wait until {#close} asks why there was no reader

      def initialize(settings)
        @settings = settings
        @connected = @full = false
        @sent = @messages = @large_bytes = 0
        @recent = [] # the number of records in each of the last messages
        @large = [] # tracker and bytes of each large message that libzmq still sends in place
      end

      attr_reader :sent, :messages # records and messages that libzmq has accepted
      # @return [Boolean] after {#close}: whether libzmq seems to have sent all accepted messages
      attr_reader :emptied
      # @return [Integer] most messages that libzmq has for one reader, queued or being written
      def depth = hwm + WRITTEN_AT_ONCE
      def held = @settings.plain? ? hwm : @recent.sum

      # Makes the socket if there is none.
      def open
        return if @socket
        if @settings.bind? && @settings.pid != Process.pid
          # A bind would remove the ipc path of the parent process.
          raise Errors.build(ForkedError, :bind, @settings.endpoint, "the parent process is " \
            "bound to it; have the reader bind, then every process may connect")
        end
        context = @settings.shared_context || (@own_context = Context.new)
        @socket = PUSH.new(context: context, **@settings.options)
        @diagnosis = Diagnosis.new(@socket, probes: false, limit: EVENTS) unless @settings.inproc?
        @settings.bind? ? @socket.bind(@settings.endpoint) : @socket.connect(@settings.endpoint)
        @connected = @settings.inproc?
      rescue
        close(0)
        raise
      end

      # Sends as many records as it can without waiting: packed records together (see {Packing}),
      # each line as a message of one frame. It sends none before the first reader is connected: a
      # writer that ends before that can then count the lost records.
      def deliver(records, from)
        open
        index = from
        while @connected && index < records.size
          packed = records[index].is_a?(::String)
          count = packed ? send_records(records, index) : send_lines(records, index)
          break if count.zero?
          index += count
        end
        @full = @connected && index < records.size
        index - from
      rescue ClosedError, ContextTerminatedError
        abandon
        index ? index - from : 0
      ensure
        @sent += index - from if index
      end

      # Waits until the socket may accept a message. Interrupts end the wait.
      def wait(seconds = nil)
        return true unless @socket # the next {#deliver} opens a socket
        return @large.first.first.wait(seconds) if @crowded
        return !@socket.wait_writable(seconds).nil? if @connected
        @socket.wait_connected(timeout: seconds)
        diagnosed
        @connected = true
      rescue TimeoutError
        false
      rescue ClosedError, ContextTerminatedError
        abandon
        true
      end

      def backlog? = false
      def spooled = 0
      def lost = 0

      # @return [Diagnosis::Finding, nil] after {#close}: why there was no reader
      attr_reader :finding

      def close(seconds)
        return true unless @socket || @own_context
        @finding = @diagnosis&.update&.finding(:send)
        diagnosed
        linger = @connected ? [seconds, Context::BRIEF_LINGER].max : 0
        finish = Timeout.now + linger
        if @socket
          @socket.linger = linger
          @socket.close
        end
        @own_context&.close
        @emptied = !@connected || Timeout.now < finish
        @emptied || seconds.zero? && !@full
      rescue Error
        false # the program has closed its context
      ensure
        @socket = @own_context = nil
      end

      private

      # Ends the diagnosis of why no reader is connected.
      def diagnosed
        @diagnosis&.close
        @diagnosis = nil
      end

      def hwm = @settings.options.fetch(:send_hwm)

      # Packs records that wait into one message. A single record goes as three frames.
      def send_records(records, from)
        batch, count = Packing.join(records, from, BATCH_BYTES)
        message = (count > 1) ? [Packing::BATCH, batch] : Packing.frames(records[from])
        return 0 if (large?(message) ? send_large(message) : send_small([message])).zero?
        @recent.shift if @recent.size > hwm
        @recent << count
        count
      end

      def send_lines(lines, from)
        return send_large(lines[from]) if large?(lines[from])
        index = from + 1
        index += 1 until index == lines.size || lines[index].is_a?(::String) || large?(lines[index])
        send_small(lines[from...index])
      end

      def send_small(messages)
        count = @socket.send_from(messages, 0, 0)
        @messages += count
        count
      end

      def large?(message) = message.any? { |frame| frame.bytesize >= Settings::LARGE }

      # @return [Integer] 1; 0 if the socket is full, or too many bytes of large messages wait
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

      # The program has closed the context that the logger used: the next socket gets another one.
      def abandon
        @socket = @diagnosis = nil
        @large = []
        @large_bytes = 0
        @connected = false
      end
    end
    private_constant :PushTransport
  end
end
