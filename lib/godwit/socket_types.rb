# frozen_string_literal: true

require_relative "socket/drafts"
require_relative "socket/request"

module Godwit
  # One to one, both ways; mostly between two threads.
  class PAIR < Socket; end

  # Publishes to all who subscribed; drops for those who cannot keep up. libzmq's XPUB inside, which
  # counts subscriptions.
  class PUB < Socket; end

  # Receives the messages whose beginning it subscribed to.
  class SUB < Socket; end

  # Sends a request, receives its reply, in turn.
  class REQ < Socket
    include Request

    # @param options [Hash] as {Socket#initialize}
    def initialize(**options)
      @request_lock = Mutex.new
      super
    end
  end

  # Receives a request, sends its reply, in turn.
  class REP < Socket
    include Serve
  end

  # Sends to its peers in turn, receives from all of them, at any time.
  class DEALER < Socket; end

  # Receives with the sender's routing id in front, sends to the peer named in front.
  class ROUTER < Socket
    include Serve
  end

  # Receives from PUSH sockets, fairly.
  class PULL < Socket; end

  # Sends to PULL sockets in turn.
  class PUSH < Socket; end

  # A PUB that receives subscriptions, as messages that begin with 1 (subscribe) or 0.
  class XPUB < Socket; end

  # A SUB that sends its subscriptions as messages that begin with 1 (subscribe) or 0.
  class XSUB < Socket; end

  # Speaks raw TCP to peers that know no ZeroMQ: [routing id, bytes] both ways, no bytes for connect
  # and disconnect.
  class STREAM < Socket; end

  # Draft type: answers CLIENTs, each known by a number. Raises {UnsupportedError} on a libzmq
  # without drafts.
  class SERVER < Socket
    include Drafts::Routed
  end

  # Draft type: sends to its SERVERs in turn, receives from all of them, at any time; messages of
  # one frame. Raises {UnsupportedError} on a libzmq without drafts.
  class CLIENT < Socket; end

  # Draft type: publishes to groups, over tcp, ipc, inproc and udp. Raises {UnsupportedError} on a
  # libzmq without drafts.
  class RADIO < Socket
    include Drafts::Grouped
  end

  # Draft type: receives from the groups that it joined. Raises {UnsupportedError} on a libzmq
  # without drafts.
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

  # Draft type: a PULL for messages of one frame. Raises {UnsupportedError} on a libzmq without
  # drafts.
  class GATHER < Socket; end

  # Draft type: a PUSH for messages of one frame. Raises {UnsupportedError} on a libzmq without
  # drafts.
  class SCATTER < Socket; end

  # Draft type: raw UDP, [address, body] both ways. Raises {UnsupportedError} on a libzmq without
  # drafts.
  class DGRAM < Socket
    include Drafts::Datagrams
  end

  # Draft type: peers that know each other by number, on both sides. Raises {UnsupportedError}
  # on a libzmq without drafts.
  class PEER < Socket
    include Drafts::Routed
    include Drafts::Connecting
  end

  # Draft type: a PAIR for messages of one frame. Raises {UnsupportedError} on a libzmq without
  # drafts.
  class CHANNEL < Socket; end

  SOCKET_TYPES.each_key { |name| const_get(name).const_set(:TYPE, name) }
end
