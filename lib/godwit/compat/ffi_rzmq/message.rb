# frozen_string_literal: true

module ZMQ
  # One frame of a message. A received frame stays in libzmq's memory until a program reads it
  # ({#copy_out_string}, {#data}), and is sent on without a copy. The garbage collector frees this
  # memory; {#close} frees it at once.
  class Message
    EMPTY = "".b.freeze
    private_constant :EMPTY

    # @return [Message, nil] nil if {#initialize} raises
    def self.create(message = nil)
      new(message)
    rescue
      nil
    end

    def self.of(thing)
      return thing if thing.is_a?(Message)
      thing = thing.address if !thing.is_a?(Handle) && thing.respond_to?(:address)
      Handle.owner_of(thing, Message)
    end

    # @return [Integer] bytes of libzmq's struct zmq_msg_t
    def self.msg_size = 64

    # @param message [String, nil] the bytes of the frame; nil: the message is to receive a frame
    def initialize(message = nil)
      @content = EMPTY
      @more = false
      @closed = false
      copy_in_string(message) if message
    end

    # @return [Integer, nil] 0; nil if `string` is nil
    def copy_in_string(string)
      copy_in_bytes(string, string.bytesize) if string
    end

    def copy_in_bytes(bytes, len)
      unless bytes.is_a?(String)
        raise TypeError, "copy_in_bytes takes a String, not #{bytes.inspect}"
      end
      unless len.between?(0, bytes.bytesize)
        raise IndexError, "copy_in_bytes: #{len} bytes of #{bytes.bytesize}"
      end
      fill(bytes.byteslice(0, len).b.freeze, false)
      0
    end

    # @return [Handle, nil] represents libzmq's struct; nil once the message is closed
    def address
      @address ||= Handle.new(self, object_id) unless @closed
    end
    alias_method :pointer, :address
    # Replaces the bytes by a copy of another message's bytes.
    # @return [Integer] 0 or -1
    def copy(source) = take_from(source) { |other| other.outgoing.dup }

    # Replaces the bytes by those of another message, which is empty afterwards.
    def move(source)
      take_from(source) do |other|
        content = other.outgoing
        other.empty
        content
      end
    end

    def size = content.bytesize

    # A copy of the bytes, made at the first call, which lives as long as this message. A send sends
    # this copy, with all changes that the program has made in it.
    def data
      bytes = content
      @data ||= Godwit::Compat::FFIRzmq.memory(bytes.to_s)
    end

    # @return [String] a copy of the bytes, binary
    def copy_out_string
      bytes = content
      return @data.read_bytes(bytes.bytesize) if @data
      bytes.is_a?(String) ? +bytes : bytes.to_s
    end

    # Frees the memory. A second call does nothing.
    def close
      release
      @content = nil
      @closed = true
      @address = nil
      0
    end

    # @return [Integer] the property's value, or -1
    def get(property)
      return Failures.set_errno(EFAULT) if @closed
      case property
      when MORE then more? ? 1 : 0
      when 2
        descriptor = @content.property("__fd") if @content.is_a?(Godwit::Frame)
        descriptor ? descriptor.to_i : Failures.set_errno(EINVAL)
      when 3 then 0
      else Failures.set_errno(EINVAL)
      end
    end

    # @return [Boolean] whether the frame was received and further frames follow
    def more? = @more
    # libzmq has no property that can be set.
    def set(_property, _value) = Failures.set_errno(EINVAL)

    # @private -- and so are the methods below
    def content
      return @content if @content
      raise MessageError.new("zmq_msg_data", -1, EFAULT, "this message was closed: make a new one")
    end

    def outgoing
      return content unless @data
      @data.read_bytes(content.bytesize).freeze # the program may have changed the bytes in place
    end

    def closed? = @closed

    def fill(content, more)
      release
      @closed = false
      @content = content
      @more = more
    end

    # Drops the bytes after they were sent or moved.
    def empty
      @content = EMPTY
      @data = nil
      @more = false
    end

    private

    def release
      @data = nil
      @content.close if @content.is_a?(Godwit::Frame)
    end

    def take_from(source)
      other = Message.of(source)
      return Failures.set_errno(EFAULT) if other.nil? || other.closed? || @closed
      return 0 if other.equal?(self)
      more = other.more?
      fill(yield(other), more)
      0
    end
  end

  # Another name of {Message}.
  class ManagedMessage < Message; end
end
