# frozen_string_literal: true

module Godwit
  # Draft type: replies to CLIENTs; a number identifies each CLIENT. On a libzmq without drafts,
  # `new` of a draft type raises {UnsupportedError}.
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

  # Draft type: sends to PEERs and receives from them; a number identifies each peer.
  class PEER < Socket
    include Drafts::Routed
    include Drafts::Connecting
  end

  # Draft type: a PAIR for messages of one frame.
  class CHANNEL < Socket; end

  DRAFT_TYPES.each { |name| const_get(name).const_set(:TYPE, name) }
end
