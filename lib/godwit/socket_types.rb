# frozen_string_literal: true

module Godwit
  # Sends to and receives from exactly one other PAIR; mostly between two threads.
  class PAIR < Socket; end
  # Publishes to all subscribers. At a subscriber's high-water mark (`send_hwm`) the PUB drops the
  # messages for that subscriber; with `xpub_no_drop: true` it waits. A PUB is libzmq's XPUB inside,
  # which counts subscriptions.
  class PUB < Socket; end
  # Receives the messages that begin with one of the socket's topics.
  class SUB < Socket; end

  # Sends a request and receives its reply, in turn.
  class REQ < Socket
    include Request

    # @param options [Hash] as {Socket#initialize}
    def initialize(**options)
      @request_lock = Mutex.new
      super
    end
  end

  # Receives a request and sends its reply, in turn.
  class REP < Socket
    include Serve
  end

  # Sends round-robin to its peers and receives from all of them, in any order.
  class DEALER < Socket; end

  # The first frame of each message is a routing id: of its sender, or of the peer to send to.
  class ROUTER < Socket
    include Serve
  end

  # Receives from its PUSH peers, one message of each in turn.
  class PULL < Socket; end
  # Sends round-robin to its PULL peers.
  class PUSH < Socket; end
  # A PUB that receives subscriptions, as messages that begin with 1 (subscribe) or 0.
  class XPUB < Socket; end
  # A SUB that sends its subscriptions as messages that begin with 1 (subscribe) or 0.
  class XSUB < Socket; end
  # Raw TCP, with peers that do not speak ZeroMQ: messages are [routing id, bytes] in both
  # directions, with no bytes for connect and disconnect.
  class STREAM < Socket; end

  (SOCKET_TYPES.keys - DRAFT_TYPES).each { |name| const_get(name).const_set(:TYPE, name) }
end
