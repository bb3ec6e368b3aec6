# frozen_string_literal: true

module Godwit
  # A message of ordered frames that is sent and received without copies:
  # {Socket::Frames#recv_message}, and `send`. Once a message was sent, its frames are gone, unless
  # the message is frozen (`Ractor.make_shareable`).
  #
  #   message = router.recv_message
  #   client = message.unwrap
  #   message.push("done").wrap(client)
  #   router.send(message)
  #
  # **Threads and fibers**: any may read a message; changing a shared one needs a lock.
  # @see https://rfc.zeromq.org/spec/37/ ZMTP 3.1
  class Message
    include Enumerable

    # @param parts [Array<Frame, String>] in order; a String becomes a {Frame}
    # @raise [MessageTypeError] when an argument is neither
    def initialize(*parts)
      @frames = parts.map { |part| frame(part, :new) }
    end

    class << self
      # @private
      # A message that `allocate` made, without `initialize`, is empty.
      def allocate = super.tap { |message| message.instance_variable_set(:@frames, []) }

      # Decodes the output of {#encode}.
      # @param data [String, Frame]
      # @return [Message]
      # @raise [MessageError] when the data are incomplete or malformed
      def decode(data)
        unless data.is_a?(String) || data.is_a?(Frame)
          raise Errors.bad_type(:decode, "the data", "a String or a Frame", data)
        end
        data = data.is_a?(Frame) ? data.to_s.b : data.b
        parts = []
        offset = 0
        while offset < data.bytesize
          size, offset = size_at(data, offset)
          missing = size > data.bytesize - offset
          raise malformed("a frame of #{size} bytes ends after the data") if missing
          parts << data.byteslice(offset, size)
          offset += size
        end
        new(*parts)
      end

      # @private
      def of(frames) = new.tap { |message| message.instance_variable_set(:@frames, frames) }

      private

      def size_at(data, offset)
        size = data.getbyte(offset)
        return [size, offset + 1] if size < LONG
        size = data.unpack1("N", offset: offset + 1) if data.bytesize >= offset + 5
        raise malformed("the size of a frame is cut short") if data.bytesize < offset + 5
        [size, offset + 5]
      end

      def malformed(what)
        Errors.of(MessageError, :decode,
          "not an encoded message: #{what} (give what Message#encode made, whole)")
      end
    end

    # In the output of {#encode}, the byte before a size of four bytes.
    LONG = 0xff
    private_constant :LONG

    # Adds frames at the end.
    # @param parts [Array<Frame, String>]
    # @return [self]
    # @raise [MessageTypeError]
    def push(*parts)
      @frames.concat(parts.map { |part| frame(part, :push) })
      self
    end
    alias_method :append, :push

    # Adds one frame at the end.
    # @param part [Frame, String]
    # @return [self]
    def <<(part) = push(part)

    # @return [Frame, nil] the last frame, which this method removes
    def pop = @frames.pop

    # Adds frames at the start, in this order.
    # @param parts [Array<Frame, String>]
    # @return [self]
    # @raise [MessageTypeError]
    def unshift(*parts)
      @frames.unshift(*parts.map { |part| frame(part, :unshift) })
      self
    end
    alias_method :prepend, :unshift
    # @return [Frame, nil] the first frame, which this method removes
    def shift = @frames.shift
    # Prepends an address and an empty frame, the envelope of REQ and ROUTER.
    # @param address [Frame, String] such as a routing id
    # @return [self]
    def wrap(address) = unshift(address, "")

    # Removes the first frame, and an empty frame after it.
    # @return [Frame, nil] the address
    def unwrap
      address = shift
      shift if !@frames.empty? && @frames.first.empty?
      address
    end

    # @param count [Integer] how many frames; not given: one Frame instead of an Array
    # @return [Frame, nil, Array<Frame>]
    def first(*count) = @frames.first(*count)
    # @param count [Integer] how many frames; not given: one Frame instead of an Array
    # @return [Frame, nil, Array<Frame>]
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
    # @return [Boolean] whether the message has no frame; such a message cannot be sent
    def empty? = @frames.empty?
    # @return [Integer] bytes of all frames
    # @raise [GoneError] when a frame was sent or closed
    def content_size = @frames.sum(&:size)
    # @return [Array<String>] copies of the frames, like the result of `recv_multipart`
    def to_a = @frames.map(&:to_s)
    # @return [Array<Frame>] the frames, not copied
    def frames = @frames.dup
    # The sender's user id, from the authenticator ({Auth}).
    # @return [String, nil] {Frame#user_id} of the first frame that has one
    def user_id = @frames.lazy.filter_map(&:user_id).first

    # @return [Boolean] whether one of the frames was sent or closed
    def gone? = @frames.any?(&:gone?)

    # Closes all frames of the message.
    # @return [nil]
    # @raise [BusyError] when a memory view of a frame is open
    def close
      @frames.each(&:close)
      nil
    end

    # Encodes the frames as CZMQ's zmsg_encode does. Before each frame is its size: one byte, or,
    # from 255 bytes on, 0xff and four bytes, big-endian.
    # @return [String]
    # @raise [MessageError] when a frame has 4 GiB or more
    # @see http://api.zeromq.org/czmq4-0:zmsg zmsg_encode
    def encode
      @frames.each_with_object(+"".b) do |frame, data|
        size = frame.size
        if size >> 32 != 0
          raise Errors.of(MessageError, :encode,
            "a frame has #{size} bytes, the encoding holds less than 4 GiB (send it as it is)")
        end
        data << ((size < LONG) ? [size].pack("C") : [LONG, size].pack("CN")) << frame.to_s.b
      end
    end

    # @param other [Object]
    # @return [Boolean] whether `other` is a Message of the same frames
    def ==(other) = other.is_a?(Message) && @frames == other.frames
    alias_method :eql?, :==
    # @return [Integer]
    def hash = @frames.hash
    # The frames, for pattern matching: `in [address, "", body]`.
    # @return [Array<String>] as {#to_a}
    def deconstruct = to_a
    # @param _keys [Array<Symbol>, nil]
    # @return [Hash] `frames:` (Strings), `size:` (how many), `content_size:` (their bytes)
    def deconstruct_keys(_keys) = {frames: to_a, size: size, content_size: content_size}

    # Most bytes of a frame in {#inspect}.
    SHOWN = 16
    private_constant :SHOWN

    # @return [String] size and first bytes of each frame
    def inspect = "#<#{self.class}#{@frames.map { |frame| " #{shown(frame)}" }.join(",")}>"

    private

    # The copy's frames share the bytes of the original's frames.
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
      raise Errors.of(MessageTypeError, operation,
        "a message has frames and Strings: got #{ErrorHints.name(part)}")
    end
  end
end
