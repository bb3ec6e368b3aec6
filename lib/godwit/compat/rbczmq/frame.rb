# frozen_string_literal: true

module ZMQ
  # One frame of a message. It is gone once it was sent or destroyed; one that a Message has belongs
  # to it.
  class Frame
    include Comparable

    MORE = 1
    REUSE = 2
    DONTWAIT = 4

    GONE = "Cannot access frame that belongs to another message or is gone."
    Arguments = Godwit::Compat::Rbczmq::Arguments
    private_constant :GONE, :Arguments

    class << self
      # @param data [String, nil]
      # @return [Frame] of this very class: there are no subclasses
      def new(data = nil)
        raise TypeError, "ZMQ::Frame has no subclasses" unless equal?(Frame)
        of(data.nil? ? "" : Arguments.type(data, String).b, false)
      end

      # @private
      def of(data, more)
        frame = allocate
        frame.__send__(:take, data, more)
        frame
      end
    end

    # @private
    # @return [Message, nil] whose frame it is
    attr_accessor :message

    # @return [Integer, nil] bytes
    def size = @data&.bytesize

    # @return [String, nil] a copy of its bytes
    def data = @data&.b
    alias_method :to_s, :data
    alias_method :to_str, :data

    # @return [String, nil] its bytes as hexadecimal digits
    def strhex = @data&.unpack1("H*")&.upcase

    # @return [Boolean, nil] whether it was received with more of its message behind it
    def more? = @data && @more

    # @return [Boolean]
    def gone? = @data.nil?

    # @return [Frame] of the same bytes, that belongs to nobody
    def dup
      here!
      Frame.of(@data, @more)
    end
    alias_method :clone, :dup

    # @return [Boolean] up to the first NUL of the String
    def data_equals?(string)
      here!
      string = Arguments.type(string, String).b
      @data == (string[/\A[^\0]*/n] || "")
    end

    # @return [Boolean] whether the bytes are the same
    def ==(other)
      Arguments.type(other, Frame)
      return true if equal?(other)
      here!
      other.here!
      @data == other.bytes
    end
    alias_method :eql?, :==

    # @return [Integer]
    def hash = @data.hash

    # By size alone.
    # @return [Integer] -1, 0, 1
    def <=>(other)
      Arguments.type(other, Frame)
      here!
      other.here!
      @data.bytesize <=> other.bytes.bytesize
    end

    # Gives it other bytes.
    # @return [nil]
    def reset(string)
      here!
      @data = Arguments.type(string, String).b
      nil
    end

    # Shows it on the standard error output.
    # @return [nil]
    def print(prefix = nil)
      here!
      prefix = Arguments.type(prefix, String) unless prefix.nil?
      $stderr.puts "#{prefix}#{line}" # standard:disable Style/StderrPuts -- warn may be off
      nil
    end
    alias_method :dump, :print

    # @return [nil]
    def destroy
      raise Error, GONE if gone? || @message
      gone!
    end

    # @return [String]
    def inspect = "#<#{self.class}#{gone? ? " gone" : " #{line}"}>"

    # @private
    def bytes = @data

    # @private
    def here!
      raise Error, GONE if gone?
    end

    # @private
    # @return [String] the bytes, to be sent
    def hand_out
      raise Error, GONE if gone? || @message
      @data
    end

    # @private
    # @return [nil]
    def gone!
      @data = @message = nil
    end

    # @private
    # @return [String] as CZMQ prints frames
    def line
      text = @data.match?(/[^\x20-\x7e]/n) ? strhex[0, 70] : @data[0, 70]
      format("[%03d] %s%s", @data.bytesize, text, (@data.bytesize > 70) ? "..." : "")
    end

    private

    def take(data, more)
      @data = data
      @more = more
      @message = nil
    end
  end
end
