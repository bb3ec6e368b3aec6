# frozen_string_literal: true

module ZMQ
  # One frame of a message. After a send or `destroy` the frame is gone: it has no bytes any more. A
  # frame in a Message belongs to the Message.
  class Frame
    include Comparable

    MORE = 1
    REUSE = 2
    DONTWAIT = 4

    GONE = "Cannot access frame that belongs to another message or is gone."
    private_constant :GONE

    class << self
      def new(data = nil)
        raise TypeError, "ZMQ::Frame has no subclasses" unless equal?(Frame)
        of(data.nil? ? "" : Arguments.type(data, String).b, false)
      end

      def of(data, more) = allocate._open(data, more)
    end

    # @return [Message, nil] the message that has the frame
    attr_accessor :message
    def size = @data&.bytesize
    def data = @data&.b
    alias_method :to_s, :data
    alias_method :to_str, :data
    def strhex = @data&.unpack1("H*")&.upcase
    # @return [Boolean, nil] whether more frames follow this received frame in its message
    def more? = @data && @more
    def gone? = @data.nil?
    def dup = Frame.of(bytes, @more)
    alias_method :clone, :dup
    # Compares the frame's bytes with the String up to the String's first NUL.
    def data_equals?(string) = bytes == (Arguments.type(string, String).b[/\A[^\0]*/n] || "")

    def ==(other)
      Arguments.type(other, Frame)
      equal?(other) || bytes == other.bytes
    end
    alias_method :eql?, :==
    def hash = @data.hash

    # Compares only the sizes of the frames.
    def <=>(other)
      Arguments.type(other, Frame)
      bytes.bytesize <=> other.bytes.bytesize
    end

    def reset(string)
      here!
      @data = Arguments.type(string, String).b
      nil
    end

    def print(prefix = nil)
      here!
      prefix = Arguments.type(prefix, String) unless prefix.nil?
      $stderr.puts "#{prefix}#{line}" # standard:disable Style/StderrPuts -- warn may be off
      nil
    end
    alias_method :dump, :print

    def destroy
      bytes_to_send
      gone!
    end

    def inspect = "#<#{self.class}#{gone? ? " gone" : " #{line}"}>"

    # @private -- and so are the methods below
    def here!
      raise Error, GONE if gone?
    end

    def bytes
      here!
      @data
    end

    # @raise [Error] when the frame is gone, or belongs to a message
    def bytes_to_send
      raise Error, GONE if gone? || @message
      @data
    end

    def gone!
      @data = @message = nil
    end

    def line
      text = @data.match?(/[^\x20-\x7e]/n) ? strhex[0, 70] : @data[0, 70]
      format("[%03d] %s%s", @data.bytesize, text, (@data.bytesize > 70) ? "..." : "")
    end

    def _open(data, more)
      @data = data
      @more = more
      @message = nil
      self
    end
  end
end
