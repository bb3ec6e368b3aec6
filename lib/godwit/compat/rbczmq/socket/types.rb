# frozen_string_literal: true

module ZMQ
  class Socket
    # Publishes.
    class Pub < Socket
      TYPE = PUB
      TYPE_STR = "PUB"
      include UpstreamSocket
    end

    # Takes what it subscribed to.
    class Sub < Socket
      TYPE = SUB
      TYPE_STR = "SUB"
      include DownstreamSocket
    end

    # Sends to Pull sockets in turn.
    class Push < Socket
      TYPE = PUSH
      TYPE_STR = "PUSH"
      include UpstreamSocket
    end

    # Receives from Push sockets.
    class Pull < Socket
      TYPE = PULL
      TYPE_STR = "PULL"
      include DownstreamSocket
    end

    # One to one, over inproc only.
    class Pair < Socket
      TYPE = PAIR
      TYPE_STR = "PAIR"

      # @return [Integer] 0
      def bind(uri)
        inproc_only(uri)
        super
      end

      # @return [true]
      def connect(uri)
        inproc_only(uri)
        super
      end

      private

      def inproc_only(uri)
        unless Arguments.string(uri).start_with?("inproc://")
          raise Error, "PAIR sockets only take an inproc endpoint"
        end
      end
    end

    # What sends and receives in turn, one frame a message.
    module InTurn
      # As Socket#send_frame, without MORE.
      def send_frame(frame, flags = nil)
        if frame_flags(flags).anybits?(Frame::MORE)
          raise Error, "cannot send multiple frames on #{type_str} sockets"
        end
        super
      end
    end
    private_constant :InTurn

    # Asks.
    class Req < Socket
      TYPE = REQ
      TYPE_STR = "REQ"
      include InTurn

      unsupported_api :sendm
    end

    # Answers.
    class Rep < Socket
      TYPE = REP
      TYPE_STR = "REP"
      include InTurn

      unsupported_api :sendm
    end

    # Receives with the sender's identity in front, sends to the one named in front.
    class Router < Socket
      TYPE = ROUTER
      TYPE_STR = "ROUTER"
    end

    # Sends to its peers in turn.
    class Dealer < Socket
      TYPE = DEALER
      TYPE_STR = "DEALER"
    end

    # Raw TCP.
    class Stream < Socket
      TYPE = STREAM
      TYPE_STR = "STREAM"
    end

    # A Pub that receives subscriptions.
    class XPub < Socket
      TYPE = XPUB
      TYPE_STR = "XPUB"
    end

    # A Sub that sends them.
    class XSub < Socket
      TYPE = XSUB
      TYPE_STR = "XSUB"
    end
  end
end
