# frozen_string_literal: true

module ZMQ
  # One part of a message. What was received is looked at where libzmq keeps it, and copied when it
  # is asked for ({#copy_out_string}, {#data}); sent on, it is not copied at all. What is forgotten
  # is collected: {#close} only does so at once.
  class Message
    EMPTY = "".b.freeze
    private_constant :EMPTY

    # @param message [String, nil] its bytes
    # @return [Message, nil] nil when it cannot be made
    def self.create(message = nil)
      new(message)
    rescue
      nil
    end

    # @private
    # @return [Message, nil] what a message, its {#address}, or anything with such an address means
    def self.of(thing)
      return thing if thing.is_a?(Message)
      thing = thing.address if !thing.is_a?(Handle) && thing.respond_to?(:address)
      Handle.owner_of(thing, Message)
    end

    # @return [Integer] bytes of libzmq's struct of a message
    def self.msg_size = 64

    # @param message [String, nil] its bytes; nil: one to receive into
    def initialize(message = nil)
      @content = EMPTY
      @more = false
      @closed = false
      copy_in_string(message) if message
    end

    # @param string [String]
    # @return [Integer, nil] 0; nil for nil
    def copy_in_string(string)
      copy_in_bytes(string, string.bytesize) if string
    end

    # @param bytes [String]
    # @param len [Integer] how many of them
    # @return [Integer] 0
    # @raise [TypeError] when it is no String
    # @raise [IndexError] when it has fewer
    def copy_in_bytes(bytes, len)
      unless bytes.is_a?(String)
        raise TypeError, "copy_in_bytes takes a String, not #{bytes.inspect}"
      end
      if len > bytes.bytesize || len.negative?
        raise IndexError, "copy_in_bytes: #{len} bytes of #{bytes.bytesize}"
      end
      fill(((len == bytes.bytesize) ? bytes.b : bytes.byteslice(0, len).b).freeze, false)
      0
    end

    # @return [Handle, nil] stands for libzmq's struct; nil once it is closed
    def address
      @address ||= Handle.new(self, object_id) unless @closed
    end
    alias_method :pointer, :address

    # Takes the bytes of another message, which keeps them.
    # @param source [Message, Handle]
    # @return [Integer] 0 or -1
    def copy(source)
      take_from(source) { |other| other.content.dup }
    end

    # Takes the bytes of another message, which is empty then.
    # @param source [Message, Handle]
    # @return [Integer] 0 or -1
    def move(source)
      take_from(source) { |other| other.surrender }
    end

    # @return [Integer] bytes
    # @raise [MessageError] when it is closed
    def size = content.bytesize

    # A copy of its bytes, made at the first call. It lives as long as this object; what is written
    # there is what is sent.
    # @return [FFI::Pointer, Bytes] Bytes where the gem ffi is missing
    # @raise [MessageError] when it is closed
    def data
      bytes = content
      @data ||= Godwit::Compat::FFIRzmq.memory(bytes.to_s)
    end

    # @return [String] a copy of its bytes, binary
    # @raise [MessageError] when it is closed
    def copy_out_string
      bytes = content
      return @data.read_bytes(bytes.bytesize) if @data
      bytes.is_a?(String) ? +bytes : bytes.to_s
    end

    # Gives its memory back. A second call does nothing.
    # @return [Integer] 0
    def close
      release
      @content = nil
      @closed = true
      @address = nil
      0
    end

    # @param property [Integer] `MORE`; 2, the peer's descriptor
    # @return [Integer] its value, or -1
    def get(property)
      return failed(EFAULT) if @closed
      case property
      when MORE then more? ? 1 : 0
      when 2 then @content.is_a?(Godwit::Frame) && @content.property("__fd")&.to_i || failed(EINVAL)
      when 3 then 0
      else failed(EINVAL)
      end
    end

    # @return [Boolean] whether it was received with more parts to follow. (In ffi-rzmq this is
    #   always true.)
    def more? = @more

    # libzmq has no property that can be set.
    # @param _property [Integer]
    # @param _value [Integer]
    # @return [Integer] -1
    def set(_property, _value) = failed(EINVAL)

    # @private
    # @return [String, Godwit::Frame]
    def content
      @content ||
        raise(
          MessageError.new("zmq_msg_data", -1, EFAULT, "this message was closed: make a new one")
        )
    end

    # @private
    # What is to be sent.
    def outgoing
      return content unless @data
      @data.read_bytes(content.bytesize).freeze # the program may have written there
    end

    # @private
    def closed? = @closed

    # @private
    def fill(content, more)
      release
      @closed = false
      @content = content
      @more = more
    end

    # @private
    # Is empty from now on.
    # @return [String, Godwit::Frame] what it was
    def surrender
      content = outgoing
      @content = EMPTY
      @data = nil
      @more = false
      content
    end

    # @private
    # Sent: its frame is gone.
    def sent
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
      return failed(EFAULT) if other.nil? || other.closed? || @closed
      return 0 if other.equal?(self)
      more = other.more?
      fill(yield(other), more)
      0
    end

    def failed(errno) = Godwit::Compat::FFIRzmq::Failures.note(errno)
  end

  # A {Message}, which is collected as well; the name is kept for old programs.
  class ManagedMessage < Message; end
end
