# frozen_string_literal: true

module ZMQ
  class Socket
    # The class of each socket type, by libzmq's number of the type.
    CLASSES = %i[Pub Sub Push Pull Pair Req Rep Router Dealer Stream XPub XSub].to_h do |name|
      klass = const_set(name, Class.new(Socket))
      type_str = klass.const_set(:TYPE_STR, name.to_s.upcase.freeze)
      [klass.const_set(:TYPE, ZMQ.const_get(type_str)), klass]
    end.freeze

    [Pub, Push].each { |klass| klass.include(UpstreamSocket) }
    [Sub, Pull].each { |klass| klass.include(DownstreamSocket) }
    [Req, Rep].each { |klass| klass.unsupported_api(:sendm) }

    # A PAIR, which accepts only inproc endpoints.
    class Pair
      def bind(uri) = super(inproc(uri))
      def connect(uri) = super(inproc(uri))

      private

      def inproc(uri)
        return uri if Arguments.string(uri).start_with?("inproc://")
        raise Error, "PAIR sockets only take an inproc endpoint"
      end
    end

    # A message of a REQ or REP has one frame.
    module OneFrame
      def send_frame(frame, flags = nil)
        return super unless frame_flags(flags).anybits?(Frame::MORE)
        raise Error, "cannot send multiple frames on #{type_str} sockets"
      end
    end
    private_constant :OneFrame

    [Req, Rep].each { |klass| klass.include(OneFrame) }
  end
end
