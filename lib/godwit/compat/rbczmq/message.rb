# frozen_string_literal: true

module ZMQ
  # A list of frames, sent and received as one. Its frames belong to it until they are taken out. It
  # is gone once it was sent or destroyed.
  class Message
    include Comparable

    GONE = "Cannot modify a message that is gone."
    LONG = 0xff
    Arguments = Godwit::Compat::Rbczmq::Arguments
    private_constant :GONE, :LONG, :Arguments

    class << self
      # @param string [String] as {#encode} gave it
      # @return [Message, nil] nil when it is no such thing
      def decode(string)
        parts = Godwit::Message.decode(Arguments.type(string, String)).to_a
        of(parts)
      rescue Godwit::MessageError
        nil
      end

      # @private
      # @param parts [Array<String>]
      def of(parts)
        message = new
        last = parts.size - 1
        parts.each_with_index { |part, index| message.add(Frame.of(part, index < last)) }
        message
      end
    end

    # An empty one.
    def initialize
      @frames = []
      @cursor = nil
    end

    # @return [Integer, nil] number of frames
    def size = @frames&.size

    # @return [Integer, nil] bytes of all of them
    def content_size = @frames&.sum(&:size)

    # @return [Boolean]
    def gone? = @frames.nil?

    # @return [Frame, nil] the first, where {#next} goes on
    def first = at(0)

    # @return [Frame, nil] the one after that which was given last; the first after a change, and
    #   after the end, which gives nil
    def next = at(@cursor ? @cursor + 1 : 0)

    # @return [Frame, nil] the last
    def last = at(@frames ? [@frames.size - 1, 0].max : 0)

    # Adds in front.
    # @return [true]
    def push(frame)
      change { @frames.unshift(own(frame)) }
      true
    end

    # Adds at the end.
    # @return [true]
    def add(frame)
      change { @frames.push(own(frame)) }
      true
    end

    # Adds in front.
    # @return [true]
    def pushstr(string)
      change { @frames.unshift(own(Frame.new(Arguments.string(string)))) }
      true
    end

    # Adds at the end.
    # @return [true]
    def addstr(string)
      change { @frames.push(own(Frame.new(Arguments.string(string)))) }
      true
    end

    # @return [Frame, nil] the first, which is the caller's then
    def pop
      change { free(@frames.shift) }
    end

    # @return [String, nil] the first, up to its first NUL
    def popstr
      pop&.data&.slice(/\A[^\0]*/n)
    end

    # Takes out that very frame.
    # @return [nil]
    def remove(frame)
      change do
        Arguments.type(frame, Frame)
        free(frame) if @frames.reject! { |one| one.equal?(frame) }
      end
      nil
    end

    # Puts an address and an empty frame in front.
    # @return [nil]
    def wrap(frame)
      change { @frames.unshift(own(frame), own(Frame.new)) }
      nil
    end

    # @return [Frame, nil] the first; an empty one behind it goes too
    def unwrap
      frame = pop
      pop if frame && @frames.first&.size&.zero?
      frame
    end

    # @return [Message] of copies
    def dup
      here!
      Message.of(@frames.map(&:data))
    end
    alias_method :clone, :dup

    # @return [Boolean] whether the other has the same frames
    def ==(other)
      here!
      Arguments.type(other, Message)
      equal?(other) || to_a == other.to_a
    end
    alias_method :eql?, :==

    # @return [Integer]
    def hash = @frames.hash

    # @return [Array<Frame>] its frames, still its own
    def to_a
      here!
      @frames.dup
    end

    # @return [String, nil] the frames in one, as {.decode} takes it
    def encode
      @frames&.each_with_object(+"".b) do |frame, data|
        size = frame.size
        data << ((size < LONG) ? [size].pack("C") : [LONG, size].pack("CN")) << frame.bytes
      end
    end

    # Shows it on the standard error output.
    # @return [nil]
    def print
      return if gone?
      warn "--------------------------------------",
        *@frames.map(&:line) # standard:disable Style/StderrPuts -- as Frame#print
    end

    # @return [nil]
    def destroy
      here!
      gone!
    end

    # @return [String]
    def inspect = "#<#{self.class}#{gone? ? " gone" : " #{@frames.map(&:size)}"}>"

    # @private
    # @return [Array<String>] to be sent
    def hand_out
      here!
      @frames.map(&:bytes)
    end

    # @private
    # @return [nil]
    def gone!
      @frames.each(&:gone!)
      @frames = @cursor = nil
    end

    private

    def here!
      raise TypeError, GONE if gone?
    end

    def change
      here!
      result = yield
      @cursor = nil
      result
    end

    def at(index)
      return if gone?
      @cursor = (index if index < @frames.size)
      @cursor && @frames[@cursor]
    end

    def own(frame)
      Arguments.type(frame, Frame)
      frame.here!
      raise Error, "this frame is in a message already: add a dup of it" if frame.message
      frame.message = self
      frame
    end

    def free(frame)
      frame&.message = nil
      frame
    end
  end
end
