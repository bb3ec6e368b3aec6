# frozen_string_literal: true

module Godwit
  module TTCP
    # The link over ZeroMQ: each buffer is a message, from a DEALER to a ROUTER, which binds. The
    # sender's first message has its name; the receiver accepts the first sender, and refuses all
    # others. An empty message ends the data; the receiver answers it.
    class ZMQLink < Link
      GREETING = "godwit ttcp"
      ACCEPTED = "accepted"
      REFUSED = "refused"
      STILL = "still receiving" # sent only to learn, by its failure, that the sender departed
      FINISH = ""
      DONE = "done"
      POLL_INTERVAL = 0.5 # seconds of silence after which a side checks for its peer

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

      # Begins the transfer. A receiver waits for the first sender.
      def open = @host ? join : accept

      def write(data)
        @calls += 1
        @socket.send(data)
        data.bytesize
      rescue ClosedError
        departed(Errno::ECONNRESET)
      end

      def finish
        @calls += 1
        departed(Errno::ECONNRESET) unless request(FINISH, nil) == DONE
      end

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
        @socket.on_event(:disconnected) { disconnected }
        @socket.connect("tcp://#{peer}")
        name = "#{::Socket.gethostname}, process #{Process.pid}"
        case request([GREETING, name], @settings[:timeout])
        when ACCEPTED then departed(Errno::ECONNRESET) if @gone
        when REFUSED then raise StateError.new("the receiver already has a sender",
          operation: :connect, endpoint: peer)
        when nil then raise no_answer
        end
      end

      def no_answer
        return failure(:connect, Errno::ECONNRESET) if @gone
        found = @socket.finding(:recv)
        TimeoutError.new("no answer in #{@settings[:timeout]} s#{": #{found.text}" if found}",
          operation: :connect, endpoint: peer, reason: found&.reason, why: found&.text)
      end

      # Returns the answer; nil when the receiver has departed, or the limit (seconds) has passed.
      # The answer may have come just before the receiver's close: so one more poll follows a close.
      def request(message, limit)
        @requesting = true
        sent = nil
        start = Timeout.now
        loop do
          gone = @gone
          remaining = [POLL_INTERVAL, *Timeout.remaining(limit, start)].min
          sent ||= @socket.send(message, timeout: remaining, exception: false)
          answer = @socket.recv(timeout: (gone || !sent) ? 0 : remaining, exception: false)
          next if answer == STILL
          return answer if answer || gone || remaining.zero?
        end
      rescue ClosedError
        nil
      ensure
        @requesting = false
      end

      # Closes the socket, which ends a send that waits. `request` checks @gone by itself.
      def disconnected
        @gone = true
        @socket.close unless @requesting
      end

      def accept
        until @sender
          id, greeting, name, *more = @socket.recv
          named = greeting == GREETING && name && more.empty?
          @sender = id if answer(id, named ? ACCEPTED : REFUSED) && named
        end
      end

      def next_data
        loop do
          id, *frames = @socket.recv(timeout: POLL_INTERVAL, exception: false)
          if id == @sender
            return (frames.size == 1) ? frames.first : frames.join
          elsif id
            refuse(id, *frames)
          elsif !answer(@sender, STILL)
            # The silence since the last buffer does not count as time of the run.
            raise Ended.new(failure(:IO, Errno::ECONNRESET), @came ? Timeout.now - @came : 0)
          end
        end
      end

      def refuse(id, greeting, name = nil, *)
        @settings[:on_refusal]&.call(name) if greeting == GREETING && name
        answer(id, REFUSED)
      end

      def answer(id, text)
        @socket.send_nonblock([id, text], exception: false)
        true
      rescue UnreachableError
        false
      end

      def buffer_size(name) = {name => @settings[:socket_buffer]}.compact
    end
    private_constant :ZMQLink
  end
end
