# frozen_string_literal: true

require_relative "socket/drafts"
require_relative "socket/request"

module Godwit
  # Exclusive pair of two sockets, in both directions; mostly between two threads.
  class PAIR < Socket; end
  # Publishes to all subscribers. At a subscriber's high-water mark (`send_hwm`) it drops the
  # messages for that subscriber; with `xpub_no_drop: true` it waits. Inside it is libzmq's XPUB,
  # which counts subscriptions.
  class PUB < Socket; end
  # Receives messages that begin with one of its topics.
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

  # Receives fairly from its PUSH peers.
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

  # Draft type: answers CLIENTs; a number names each. On a libzmq without drafts, `new` of a draft
  # type raises {UnsupportedError}.
  class SERVER < Socket
    include Drafts::Routed
  end

  # Draft type: sends round-robin to its SERVERs and receives from all; messages have one frame.
  class CLIENT < Socket; end

  # Draft type: publishes to groups, over tcp, ipc, inproc and udp.
  class RADIO < Socket
    include Drafts::Grouped
  end

  # Draft type: receives from the groups that it joined.
  class DISH < Socket
    include Drafts::Groups

    # @param join [String, Array<String>, nil] groups, as {Socket::Drafts::Groups#join}
    # @param options [Hash] see {Socket#initialize}
    def initialize(join: nil, **options)
      @groups = []
      super(**options)
      begin
        join(*join)
      rescue
        close
        raise
      end
    end
  end

  # Draft type: a PULL for messages of one frame.
  class GATHER < Socket; end
  # Draft type: a PUSH for messages of one frame.
  class SCATTER < Socket; end

  # Draft type: raw UDP; messages are [address, body] in both directions.
  class DGRAM < Socket
    include Drafts::Datagrams
  end

  # Draft type: on both sides a number names each peer.
  class PEER < Socket
    include Drafts::Routed
    include Drafts::Connecting
  end

  # Draft type: a PAIR for messages of one frame.
  class CHANNEL < Socket; end

  SOCKET_TYPES.each_key { |name| const_get(name).const_set(:TYPE, name) }
end
