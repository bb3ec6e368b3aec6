# frozen_string_literal: true

module Godwit
  # A message of ordered frames, sent and received whole without copying them:
  # {Socket::Frames#recv_message}, and `send`. Once sent its frames are gone, unless it is frozen
  # (`Ractor.make_shareable`).
  #
  #   message = router.recv_message
  #   client = message.unwrap
  #   message.push("done").wrap(client)
  #   router.send(message)
  #
  # **Threads and fibers**: as an Array: any may read it; who changes it while others use it has to
  # lock it.
  # @see https://rfc.zeromq.org/spec/37/ ZMTP 3.1
  class Message
    include Enumerable

    # @param parts [Array<Frame, String>] in order; a String becomes a {Frame}
    # @raise [MessageTypeError] when one is neither
    def initialize(*parts)
      @frames = parts.map { |part| frame(part, :new) }
    end

    class << self
      # @private
      # One that was allocated only is empty.
      def allocate = super.tap { |message| message.instance_variable_set(:@frames, []) }

      # Makes a message of what {#encode} gave.
      # @param data [String, Frame]
      # @return [Message]
      # @raise [MessageError] when it is cut short or no such encoding
      def decode(data)
        unless data.is_a?(String) || data.is_a?(Frame)
          raise Errors.bad_type(:decode, "the data", "a String or a Frame", data)
        end
        data = data.is_a?(Frame) ? data.to_s.b : data.b
        parts = []
        offset = 0
        while offset < data.bytesize
          size, offset = size_at(data, offset)
          if size > data.bytesize - offset
            raise malformed("a frame of #{size} bytes ends after the data")
          end
          parts << data.byteslice(offset, size)
          offset += size
        end
        new(*parts)
      end

      # @private
      # @return [Message] of these frames, as they are
      def of(frames)
        message = new
        message.instance_variable_set(:@frames, frames)
        message
      end

      private

      def size_at(data, offset)
        size = data.getbyte(offset)
        return [size, offset + 1] if size < LONG
        size = data.unpack1("N", offset: offset + 1) if data.bytesize >= offset + 5
        raise malformed("the size of a frame is cut short") if data.bytesize < offset + 5
        [size, offset + 5]
      end

      def malformed(what)
        MessageError.new(
          "decode: not an encoded message: #{what} (give what Message#encode made, whole)",
          operation: :decode
        )
      end
    end

    # First byte of a frame whose size follows in four.
    LONG = 0xff
    private_constant :LONG

    # Adds at the end.
    # @param parts [Array<Frame, String>]
    # @return [self]
    # @raise [MessageTypeError]
    def push(*parts)
      @frames.concat(parts.map { |part| frame(part, :push) })
      self
    end
    alias_method :append, :push

    # {#push} of one.
    # @param part [Frame, String]
    # @return [self]
    def <<(part)
      push(part)
    end

    # @return [Frame, nil] the last, which it takes out
    def pop = @frames.pop

    # Adds at the start, in this order.
    # @param parts [Array<Frame, String>]
    # @return [self]
    # @raise [MessageTypeError]
    def unshift(*parts)
      @frames.unshift(*parts.map { |part| frame(part, :unshift) })
      self
    end
    alias_method :prepend, :unshift

    # @return [Frame, nil] the first, which it takes out
    def shift = @frames.shift

    # Puts an address and an empty frame in front, as a REQ or ROUTER has it.
    # @param address [Frame, String] such as a routing id
    # @return [self]
    def wrap(address)
      unshift(address, "")
    end

    # Takes the first frame out, and the empty one after it, if there is one.
    # @return [Frame, nil] the address
    def unwrap
      address = shift
      shift if !@frames.empty? && @frames.first.empty?
      address
    end

    # @param count [Integer] with it, an Array of as many
    # @return [Frame, nil]
    def first(*count) = @frames.first(*count)

    # @param count [Integer] with it, an Array of as many
    # @return [Frame, nil]
    def last(*count) = @frames.last(*count)

    # @param index [Integer]
    # @return [Frame, nil]
    def [](index) = @frames[index]

    # @yieldparam frame [Frame]
    # @return [self] or, without a block, an Enumerator
    def each(&block)
      return to_enum(:each) { size } unless block
      @frames.each(&block)
      self
    end

    # @return [Integer] number of frames
    def size = @frames.size
    alias_method :length, :size

    # @return [Boolean] whether it has no frame; such a message cannot be sent
    def empty? = @frames.empty?

    # @return [Integer] bytes of all frames
    # @raise [GoneError] when one was sent or closed
    def content_size = @frames.sum(&:size)

    # @return [Array<String>] copies of its frames, as `recv_multipart` would have given them
    def to_a = @frames.map(&:to_s)

    # @return [Array<Frame>] its frames, not copied
    def frames = @frames.dup

    # Who sent it, as the authenticator said ({Auth}).
    # @return [String, nil] {Frame#user_id} of the first frame that has one
    def user_id
      @frames.each { |frame| (id = frame.user_id) and return id }
      nil
    end

    # @return [Boolean] whether a frame of it was sent or closed
    def gone? = @frames.any?(&:gone?)

    # Closes all its frames.
    # @return [nil]
    # @raise [BusyError] when a memory view of one is open
    def close
      @frames.each(&:close)
      nil
    end

    # The frames in one String, as CZMQ's zmsg_encode writes them: before each its size, in one
    # byte, or from 255 bytes on 0xff and four bytes, highest first.
    # @return [String]
    # @raise [MessageError] when a frame has 4 GiB or more
    # @see http://api.zeromq.org/czmq4-0:zmsg zmsg_encode
    def encode
      @frames.each_with_object(+"".b) do |frame, data|
        size = frame.size
        if size >> 32 != 0
          raise MessageError.new(
            "encode: a frame has #{size} bytes, the encoding holds less than 4 GiB (send " \
            "it as it is)",
            operation: :encode
          )
        end
        data << ((size < LONG) ? [size].pack("C") : [LONG, size].pack("CN")) << frame.to_s.b
      end
    end

    # @param other [Object]
    # @return [Boolean] whether it is a Message of the same frames
    def ==(other)
      other.is_a?(Message) && @frames == other.frames
    end
    alias_method :eql?, :==

    # @return [Integer]
    def hash = @frames.hash

    # For pattern matching: `in [address, "", body]`.
    # @return [Array<String>] as {#to_a}
    def deconstruct = to_a

    # @param _keys [Array<Symbol>, nil]
    # @return [Hash] `frames:` (Strings), `size:` (how many), `content_size:` (their bytes)
    def deconstruct_keys(_keys) = {frames: to_a, size: size, content_size: content_size}

    # Bytes of a frame that {#inspect} shows.
    SHOWN = 16
    private_constant :SHOWN

    # @return [String] size and first bytes of each frame
    def inspect
      "#<#{self.class}#{@frames.map { |frame| " #{shown(frame)}" }.join(",")}>"
    end

    private

    # A copy has frames of its own, which share their bytes.
    def initialize_copy(original)
      @frames = original.frames.map(&:dup)
    end

    def shown(frame)
      return "gone" if frame.gone?
      return "0 bytes" if frame.size.zero?
      ellipsis = "..." if frame.size > SHOWN
      "#{frame.size} bytes #{frame.byteslice(0, SHOWN).inspect}#{ellipsis}"
    end

    def frame(part, operation)
      return part if part.is_a?(Frame)
      return Frame.new(part) if part.is_a?(String)
      raise MessageTypeError.new(
        "#{operation}: a message has frames and Strings: got #{ErrorHints.name(part)}",
        operation: operation
      )
    end
  end
end
