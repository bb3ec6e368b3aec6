# frozen_string_literal: true

require_relative "../peer_counter"

module Godwit
  module TTCP
    # A message of one frame for each buffer, from a PUSH to a PULL, which binds. An empty message
    # is the end: the receiver then closes its socket, and the sender waits for that.
    # @private
    class ZMQLink < Link
      FINISH = ""
      LOOK = 0.5 # seconds of silence after which a receiver asks whether the sender left
      private_constant :FINISH, :LOOK

      def initialize(debug: false, full_blocks: false, nodelay: false, **settings)
        if debug || full_blocks
          raise Errors.of(ArgumentValueError, :ttcp, "zmq: takes neither debug: nor full_blocks:")
        end
        super(**settings)
      end

      def bind
        @socket = PULL.new(linger: 0, ipv6: true, **buffer_size(:recv_buffer_size))
        @peers = PeerCounter.new(1)
        @socket.on_event(*PeerCounter::KINDS.keys) { |event| count_sender(event) }
        begin
          @socket.bind("tcp://*:#{@port}")
        rescue SystemCallError => error
          raise failure(:bind, error), cause: nil
        end
      end

      # A receiver waits for the first message.
      def open
        return @socket.wait_readable unless @host
        @gone = Thread::Queue.new
        @socket =
          PUSH.new(linger: 0, count_peers: true, ipv6: true, **buffer_size(:send_buffer_size))
        @socket.on_event(:disconnected) { leave }
        @socket.connect("tcp://#{place}")
        @socket.wait_connected(timeout: @settings[:timeout])
      rescue TimeoutError
        raise TimeoutError.new("no answer in #{@settings[:timeout]} s", operation: :connect,
          endpoint: place), cause: nil
      end

      # @return [Integer] bytes
      def write(data)
        @calls += 1
        @socket.send(data)
        data.bytesize
      rescue ClosedError
        left(Errno::ECONNRESET)
      end

      def finish
        write(FINISH)
        @gone.pop
      end

      # @return [String, nil] the buffer with data; nil at the end
      def read(buffer)
        size = @socket.recv_into(buffer, timeout: LOOK, exception: false) until size || @gone
        size ||= @socket.recv_into(buffer, timeout: LOOK, exception: false)
        raise ended(second_sender) if @second
        raise ended(failure(:IO, Errno::ECONNRESET)) unless size
        @calls += 1
        @came = Timeout.now
        buffer unless size.zero?
      end

      private

      # A connection without a handshake, such as a port scan, is no sender.
      def count_sender(event)
        before = @peers.established
        @peers.record(event.name, event.value)
        more = @peers.established > before
        @second = true if @peers.established > 1 || (more && @came)
        @gone = @second || @peers.established < before if more || @peers.established < before
      end

      # The silence since the last buffer does not count.
      def ended(error) = Ended.new(error, @came ? Timeout.now - @came : 0)

      def second_sender
        StateError.new("a second sender connected", operation: :IO, endpoint: place)
      end

      def buffer_size(name) = {name => @settings[:socket_buffer]}.compact

      # A send that waits for a peer ends.
      def leave
        @gone.close
        @socket.close
      end
    end
  end
end
