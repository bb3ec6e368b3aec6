# frozen_string_literal: true

module ZMQ
  # A list of frames, sent and received as a whole. A frame belongs to the message until it is
  # removed. After a send or `destroy` the message is gone: it has no frames any more.
  class Message
    include Comparable

    GONE = "Cannot modify a message that is gone."
    private_constant :GONE

    class << self
      # @return [Message, nil] nil for a String that {#encode} did not make
      def decode(string)
        of(Godwit::Message.decode(Arguments.type(string, String)).to_a)
      rescue Godwit::MessageError
        nil
      end

      def of(frames)
        message = new
        frames.each_with_index do |bytes, index|
          message.add(Frame.of(bytes, index + 1 < frames.size))
        end
        message
      end
    end

    def initialize
      @frames = []
      @cursor = nil
    end

    def size = @frames&.size
    def content_size = @frames&.sum(&:size)
    def gone? = @frames.nil?
    # @return [Frame, nil] the first frame; {#next} then returns the second one
    def first = at(0)
    # @return [Frame, nil] the frame after the one that was returned last; the first frame after a
    #   change; nil at the end
    def next = at(@cursor ? @cursor + 1 : 0)
    def last = at(@frames ? [@frames.size - 1, 0].max : 0)
    def push(frame) = insert(0) { frame }
    def add(frame) = insert(-1) { frame }
    def pushstr(string) = insert(0) { Frame.new(Arguments.string(string)) }
    def addstr(string) = insert(-1) { Frame.new(Arguments.string(string)) }
    # Removes the first frame and returns it. The frame then belongs to the caller.
    def pop = change { free(@frames.shift) }
    # @return [String, nil] the removed first frame's bytes, up to the first NUL
    def popstr = pop&.data&.slice(/\A[^\0]*/n)

    def remove(frame)
      change do
        Arguments.type(frame, Frame)
        free(frame) if @frames.reject! { |one| one.equal?(frame) }
      end
      nil
    end

    # Puts a frame with an address, and an empty frame, in front of the message.
    def wrap(frame)
      change { @frames.unshift(own(frame), own(Frame.new)) }
      nil
    end

    # Removes the first frame, and also the second one if it is empty.
    def unwrap
      frame = pop
      pop if frame && @frames.first&.size&.zero?
      frame
    end

    def dup = Message.of(to_a.map(&:data))
    alias_method :clone, :dup

    def ==(other)
      here!
      Arguments.type(other, Message)
      equal?(other) || to_a == other.to_a
    end
    alias_method :eql?, :==
    def hash = @frames.hash

    def to_a
      here!
      @frames.dup
    end

    # @return [String, nil] all frames in one String, for {.decode}
    def encode = @frames && Godwit::Message.new(*bytes_to_send).encode

    def print
      return if gone?
      # standard:disable Style/StderrPuts -- warn may be off
      $stderr.puts "--------------------------------------", *@frames.map(&:line)
      # standard:enable Style/StderrPuts
    end

    def destroy
      here!
      gone!
    end

    def inspect = "#<#{self.class}#{gone? ? " gone" : " #{@frames.map(&:size)}"}>"
    # @private -- and so are the methods below
    def bytes_to_send = to_a.map(&:bytes)

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

    def insert(index)
      change { @frames.insert(index, own(yield)) }
      true
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
