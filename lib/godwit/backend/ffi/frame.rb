# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # The primitives of a frame. A frame has its own copy of libzmq's message, in a String.
    module FramePrimitives
      include Failures

      # The metadata that a frame copies: libzmq cannot list the names of a message's metadata. The
      # layer for ffi-rzmq needs "__fd".
      PROPERTIES = %w[Peer-Address Socket-Type User-Id Routing-Id Identity __fd].freeze
      private_constant :PROPERTIES

      def self.properties(message)
        PROPERTIES.to_h { |name| [name, Zmq.zmq_msg_gets(message, name)] }.compact
      end

      # @private
      def adopt(bytes, encoding, more, properties)
        @bytes = bytes.b.freeze
        @encoding = encoding
        @more = more
        @properties = properties
        self
      end

      # @private
      def bytes_for(operation) = @bytes || raise_failed(GoneError, operation)

      # @private
      # A frozen frame is not gone after a send: it may be sent again.
      def sent
        @bytes = nil unless frozen?
      end

      private

      # The FFI backend ignores the copy threshold, since it copies every String.
      def _open(data, _threshold)
        raise "this frame is made already" if @encoding
        adopt(data, data.encoding, false, {})
      end

      def initialize_copy(original)
        super
        bytes_for(:dup)
      end

      def _size = bytes_for(:size).bytesize

      def _slice(start, length) = bytes_for(:byteslice).byteslice(start, length)

      def _string = bytes_for(:to_s).dup.force_encoding(@encoding)

      def _byte(index) = bytes_for(:getbyte).getbyte(index)

      def _in_place = yield bytes_for(:read)

      def _compare(other)
        others = other.is_a?(Frame) ? other.bytes_for(:compare) : other.b
        bytes_for(:compare) <=> others
      end

      def _hash = bytes_for(:hash).hash

      def _more? = bytes_for(:more?) && @more

      def _gone? = @bytes.nil?

      def _property(name)
        bytes_for(:property)
        @properties[name]&.dup&.force_encoding(Encoding::UTF_8)
      end

      # Only messages of draft types have a routing id or a group.
      def _routing_id = bytes_for(:routing_id) && nil

      def _group = bytes_for(:group) && nil

      def _encoding = bytes_for(:encoding) && @encoding

      def _close
        return unless @bytes
        if frozen?
          raise FrozenError.new("can't modify frozen #{self.class}: #{inspect}", receiver: self)
        end
        @bytes = nil
      end
    end

    # The primitives of a tracker. A send copies the String, so its tracker is done at once.
    module TrackerPrimitives
      private

      def _open
        raise "this tracker is in use already" unless @sent.nil?
        @sent = false
      end

      def _sent
        @sent = true
        self
      end

      def _done?
        return @sent unless @sent.nil?
        raise Errors.build(
          StateError, :tracker, nil, "no send gave this tracker: send(…, track: true) gives one"
        )
      end

      def _wait(_timeout) = _done?
    end
  end
end
