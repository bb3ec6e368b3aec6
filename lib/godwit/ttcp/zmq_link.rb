# frozen_string_literal: true

module Godwit
  module TTCP
    # A message of one frame for each buffer, from a DEALER to a ROUTER, which binds. The sender's
    # first message names it; the receiver accepts the first sender, and refuses all others. An
    # empty message is the end of the data: the receiver answers when it has all of it.
    # @private
    class ZMQLink < Link
      GREETING = "godwit ttcp"
      ACCEPTED = "accepted"
      REFUSED = "refused"
      STILL = "still receiving" # asks libzmq whether the sender is connected
      FINISH = ""
      DONE = "done"
      LOOK = 0.5 # seconds of silence after which an end asks whether the other one left
      private_constant :GREETING, :ACCEPTED, :REFUSED, :STILL, :FINISH, :DONE, :LOOK

      def initialize(debug: false, full_blocks: false, nodelay: false, **settings)
        if debug || full_blocks
          raise Errors.of(ArgumentValueError, :ttcp, "zmq: takes neither debug: nor full_blocks:")
        end
        super(**settings)
      end

      def bind
        @socket = ROUTER.new(linger: TIMEOUT, ipv6: true, mandatory: true,
          **buffer_size(:recv_buffer_size))
        @socket.bind("tcp://*:#{@port}")
      rescue SystemCallError => error
        raise failure(:bind, error), cause: nil
      end

      # A receiver waits for the first sender.
      def open = @host ? join : accept

      # @return [Integer] bytes
      def write(data)
        @calls += 1
        @socket.send(data)
        data.bytesize
      rescue ClosedError
        left(Errno::ECONNRESET)
      end

      def finish
        @calls += 1
        left(Errno::ECONNRESET) unless ask(FINISH, nil) == DONE
      end

      # @return [String, nil] the buffer with data; nil at the end
      def read(buffer)
        data = next_data
        @calls += 1
        @came = Timeout.now
        return buffer.replace(data) unless data.empty?
        answer(@sender, DONE)
        nil
      end

      private

      def join
        @socket = DEALER.new(linger: 0, ipv6: true, **buffer_size(:send_buffer_size))
        @socket.on_event(:disconnected) { leave }
        @socket.connect("tcp://#{place}")
        case ask([GREETING, "#{::Socket.gethostname}, process #{Process.pid}"], @settings[:timeout])
        when ACCEPTED then left(Errno::ECONNRESET) if @gone
        when REFUSED then raise StateError.new("the receiver already has a sender",
          operation: :connect, endpoint: place)
        when nil then raise no_answer
        end
      end

      def no_answer
        return failure(:connect, Errno::ECONNRESET) if @gone
        found = @socket.finding(:recv)
        TimeoutError.new("no answer in #{@settings[:timeout]} s#{": #{found.text}" if found}",
          operation: :connect, endpoint: place, reason: found&.reason, why: found&.text)
      end

      # The receiver's answer comes before the event of its close: it is read after the event, too.
      # @param limit [Numeric, nil] seconds
      # @return [String, nil] nil: the receiver left, or time is up
      def ask(message, limit)
        @asking = true
        sent = nil
        start = Timeout.now
        loop do
          gone = @gone
          left = [LOOK, *Timeout.left(limit, start)].min
          sent ||= @socket.send(message, timeout: left, exception: false)
          answer = @socket.recv(timeout: (gone || !sent) ? 0 : left, exception: false)
          next if answer == STILL
          return answer if answer || gone || left.zero?
        end
      rescue ClosedError
        nil
      ensure
        @asking = false
      end

      # A send that waits ends. `ask` looks at @gone by itself.
      def leave
        @gone = true
        @socket.close unless @asking
      end

      def accept
        until @sender
          id, greeting, name, *more = @socket.recv
          named = greeting == GREETING && name && more.empty?
          @sender = id if answer(id, named ? ACCEPTED : REFUSED) && named
        end
      end

      # @return [String] what came from the first sender
      def next_data
        loop do
          id, *frames = @socket.recv(timeout: LOOK, exception: false)
          if id == @sender
            return (frames.size == 1) ? frames.first : frames.join
          elsif id
            refuse(id, *frames)
          elsif !answer(@sender, STILL)
            raise ended(failure(:IO, Errno::ECONNRESET))
          end
        end
      end

      def refuse(id, greeting, name = nil, *)
        @settings[:on_refusal]&.call(name) if greeting == GREETING && name
        answer(id, REFUSED)
      end

      # @return [Boolean] whether the sender is connected; one that does not read gets no answer
      def answer(id, text)
        @socket.send_nonblock([id, text], exception: false)
        true
      rescue UnreachableError
        false
      end

      # The silence since the last buffer does not count.
      def ended(error) = Ended.new(error, @came ? Timeout.now - @came : 0)

      def buffer_size(name) = {name => @settings[:socket_buffer]}.compact
    end
  end
end
