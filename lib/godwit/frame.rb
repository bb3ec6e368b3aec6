# frozen_string_literal: true

module Godwit
  # One frame of a message, read in libzmq's memory and copied only on demand. A frame never
  # changes. A frame that was sent or closed is {#gone?}; every other use of it raises {GoneError}.
  # The garbage collector frees frames, and counts their bytes as Ruby's own memory, so that large
  # frames do not pile up.
  #
  #   frame = pull.recv_frame
  #   frame.size                        # no copy
  #   frame.unpack1("N", offset: 4)     # no copy
  #   frame.to_s                        # a copy
  #
  # **Threads and fibers**: any may read a frame. A send or a close of the frame raises {BusyError}
  # while another thread has a memory view of the frame open, or reads the frame in a block.
  #
  # **Ractors**: several Ractors can read a frozen frame (`frame.freeze`, or
  # `Ractor.make_shareable`). A frozen frame cannot be closed. Sending it shares its bytes, so it is
  # never gone.
  #
  # **MemoryView**: readable bytes, one dimension (`Fiddle::MemoryView.new(frame)`).
  # @see http://api.zeromq.org/4-3:zmq-msg-init zmq_msg_init(3)
  class Frame
    extend Keywords
    include Comparable

    # The default of `copy_threshold`, in bytes: a frozen String of this size or more is sent in
    # place, not copied. bench/frames.rb measures the best size.
    COPY_THRESHOLD = 64 * 1024

    MAX = 1 << 62 # bytes; a larger copy_threshold is refused
    private_constant :MAX

    # @param data [String] the frame's bytes. A frozen String of `copy_threshold` bytes or more is
    #   used in place, any other is copied
    # @param copy_threshold [Integer, nil] bytes; nil copies always
    # @raise [ArgumentTypeError, ArgumentValueError]
    def initialize(data = "", copy_threshold: COPY_THRESHOLD)
      raise Errors.bad_type(:new, "a Frame", "a String", data) unless data.is_a?(String)
      _open(data, Frame.threshold(:new, copy_threshold) || MAX)
    end

    # @private
    # @return [Integer, nil] `bytes`, after a check that this copy_threshold is allowed
    def self.threshold(operation, bytes)
      return bytes if bytes.nil? || (bytes.is_a?(Integer) && bytes.between?(0, MAX))
      raise Errors.bad_value(operation, "copy_threshold",
        "a number of bytes up to #{MAX}, or nil to copy always", bytes)
    end

    # @return [Integer] bytes of the frame
    def size = _size
    alias_method :bytesize, :size
    alias_method :length, :size
    # @return [Boolean] whether the frame has no bytes
    def empty? = _size.zero?

    # Copies some of the frame's bytes; the arguments are those of String#byteslice.
    # @overload byteslice(index)
    #   @param index [Integer] counted from the end when negative
    # @overload byteslice(start, length)
    #   @param start [Integer]
    #   @param length [Integer]
    # @overload byteslice(range)
    #   @param range [Range<Integer>]
    # @return [String, nil] a binary String; nil when the bytes begin outside of the frame
    # @raise [GoneError]
    def byteslice(start, length = nil)
      size = _size
      check_index(start, length)
      return getbyte(start) && _slice(start % size, 1) unless length || start.is_a?(Range)
      first, length = start.is_a?(Range) ? within(start, size) : [start, length]
      first += size if first.negative?
      _slice(first, [length, size - first].min) if first.between?(0, size) && !length.negative?
    end

    # @param index [Integer] counted from the end when negative
    # @return [Integer, nil] the byte, 0 to 255; nil outside of the frame
    def getbyte(index)
      size = _size
      unless index.is_a?(Integer)
        raise Errors.bad_type(:getbyte, "a place in a frame", "an Integer", index)
      end
      index += size if index.negative?
      _byte(index) if index >= 0 && index < size
    end

    # @yieldparam byte [Integer] 0 to 255
    # @return [self] or, without a block, an Enumerator
    # @raise [GoneError] also when the block closes the frame
    def each_byte
      return to_enum(:each_byte) { size } unless block_given?
      index = 0
      while index < _size
        yield _byte(index)
        index += 1
      end
      self
    end

    # @param format [String] as String#unpack accepts it
    # @param offset [Integer] bytes from the start
    # @yieldparam value [Object] each value; meanwhile the frame cannot be sent or closed
    # @return [Array<Object>] nil with a block
    # @raise [ArgumentError] when the offset is outside of the frame
    # @see https://docs.ruby-lang.org/en/master/packed_data_rdoc.html
    def unpack(format, offset: 0, &block)
      _in_place { |bytes| bytes.unpack(format, offset: offset, &block) }
    end

    # @param format [String] as String#unpack1 accepts it
    # @param offset [Integer] bytes from the start
    # @return [Object] the first value
    # @raise [ArgumentError] when the offset is outside of the frame
    def unpack1(format, offset: 0) = _in_place { |bytes| bytes.unpack1(format, offset: offset) }
    # @return [String] a copy of the frame's bytes, in the encoding of the socket that received the
    #   frame, or of the String from which it was made
    def to_s = _string
    # @return [Encoding] the encoding of {#to_s}
    def encoding = _encoding

    # @param prefixes [Array<String>]
    # @return [Boolean] whether the frame begins with one of the prefixes
    # @raise [ArgumentTypeError] when a prefix is no String
    def start_with?(*prefixes)
      wrong = prefixes.reject { |prefix| prefix.is_a?(String) }
      raise Errors.bad_type(:start_with?, "a prefix", "a String", wrong[0]) unless wrong.empty?
      _in_place { |bytes| prefixes.any? { |prefix| bytes.start_with?(prefix.b) } }
    end

    # Compares the bytes.
    # @param other [Frame, String]
    # @return [Integer, nil] -1, 0 or 1; nil for anything else
    def <=>(other)
      _compare(other) if other.is_a?(Frame) || other.is_a?(String)
    end

    # @param other [Object]
    # @return [Boolean] whether `other` is a Frame or String of the same bytes
    def ==(other)
      return true if equal?(other)
      (other.is_a?(Frame) || other.is_a?(String)) && !_gone? &&
        !(other.is_a?(Frame) && other.gone?) && _compare(other).zero?
    end

    # @param other [Object]
    # @return [Boolean] whether `other` is a Frame of the same bytes; a Hash calls it for its keys
    def eql?(other) = other.is_a?(Frame) && self == other
    # @return [Integer] the same for frames of the same bytes
    def hash = _hash
    # @return [Boolean] whether the frame was received, and was not the last of its message
    def more? = _more?
    # @return [Boolean] whether the frame was sent or closed
    def gone? = _gone?

    # A property of the sender: "Peer-Address", "Socket-Type", "User-Id", "Routing-Id", or a
    # property that the sender set with the option `metadata` ("X-…").
    # @param name [String]
    # @return [String, nil] nil when there is no property of that name
    # @raise [ArgumentTypeError, ArgumentValueError] for a wrong name
    # @see http://api.zeromq.org/4-3:zmq-msg-gets zmq_msg_gets(3)
    def property(name)
      unless name.is_a?(String) || name.is_a?(Symbol)
        raise Errors.bad_type(:property, "the name", "a String", name)
      end
      name = name.to_s
      if name.include?("\0")
        raise Errors.bad_value(:property, "the name", "a String without NUL", name)
      end
      _property(name)
    end

    # The sender's user id, from the authenticator ({Auth}).
    # @return [String, nil] nil unless the socket that received the frame enforces a ZAP domain, as
    #   `auth:` does: elsewhere the peer itself may have written the property "User-Id"
    attr_reader :user_id

    # Stores the authenticator's user id; a socket that enforces a ZAP domain calls this method.
    # @private
    def trust_user_id
      id = _property("User-Id")
      @user_id = id.freeze unless id.nil? || id.empty?
      self
    end

    # @return [Integer, nil] the sender's routing id for `send(reply, routing_id:)`, when a SERVER
    #   or PEER received the frame
    def routing_id = _routing_id
    # @return [String, nil] the frame's group, when a DISH received it
    def group = _group
    # Frees the frame's bytes at once. A second call does nothing.
    # @return [nil]
    # @raise [BusyError] when a memory view of the frame is open
    # @raise [FrozenError] when the frame is frozen
    def close = _close

    # @return [String] size and first bytes
    def inspect
      return "#<#{self.class} gone>" if gone?
      start = byteslice(0, 16).inspect
      "#<#{self.class} #{size} bytes #{start}#{"..." if size > 16}>"
    end

    private

    def check_index(start, length)
      return if start.is_a?(Integer) && (length.nil? || length.is_a?(Integer))
      bounds = start.is_a?(Range) ? [start.begin, start.end] : [start]
      wrong = [*bounds, length].find { |index| !index.is_a?(Integer) && !index.nil? }
      return if wrong.nil? && start
      allowed = "an Integer, or a Range of them"
      raise Errors.bad_type(:byteslice, "a place in a frame", allowed, wrong)
    end

    # @return [Array(Integer, Integer)] the Range's start, and its length in bytes
    def within(range, size)
      first = range.begin || 0
      first += size if first.negative?
      last = range.end || -1
      last += size if last.negative?
      last -= 1 if range.exclude_end? && range.end
      [first.negative? ? size + 1 : first, [last - first + 1, 0].max]
    end
  end
end
