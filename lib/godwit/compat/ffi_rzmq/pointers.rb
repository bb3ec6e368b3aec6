# frozen_string_literal: true

module ZMQ
  # Represents ffi-rzmq's pointer to a context, a socket or a message. Functions of the gem ffi
  # accept a Handle as a pointer.
  class Handle
    attr_reader :owner, :address

    def initialize(owner, address)
      @owner = owner
      @address = address
    end

    # @return [Object, nil] the thing, or a Handle's owner; nil if this object is no `klass`
    def self.owner_of(thing, klass)
      thing = thing.owner if thing.is_a?(Handle)
      thing if thing.is_a?(klass)
    end

    alias_method :to_i, :address
    def null? = false
    def to_ptr = Godwit::Compat::FFIRzmq.ffi::Pointer.new(address)
    def ==(other) = other.is_a?(Handle) && other.owner.equal?(owner)
    alias_method :eql?, :==
    def hash = owner.object_id.hash
    def inspect = "#<#{self.class} #{owner.class} 0x#{address.to_s(16)}>"
  end

  # What {Message#data} returns without the gem ffi. It has the methods of a pointer that programs
  # need most. They raise IndexError for offsets outside of the bytes.
  class Bytes
    def initialize(bytes)
      @bytes = bytes.b
    end

    # @param length [Integer, nil] bytes; nil: up to the first NUL
    def read_string(length = nil) = length ? get_bytes(0, length) : @bytes[/\A[^\0]*/n]
    def read_bytes(length) = get_bytes(0, length)

    def get_bytes(offset, length)
      check(offset, length)
      @bytes.byteslice(offset, length)
    end

    # @param string [String] written at the offset, over as many bytes as it has
    def put_bytes(offset, string)
      check(offset, string.bytesize)
      @bytes[offset, string.bytesize] = string.b
      self
    end

    def null? = false

    private

    def check(offset, length)
      return if offset >= 0 && length >= 0 && offset + length <= @bytes.bytesize
      raise IndexError, "#{length} bytes from #{offset} on, of #{@bytes.bytesize}"
    end
  end
end

module Godwit
  module Compat
    module FFIRzmq
      module_function

      def ffi
        require "ffi"
        ::FFI
      rescue LoadError
        words = "a pointer needs the gem ffi: install it"
        raise ::ZMQ::NotSupportedError.new("pointer", -1, ::ZMQ::ENOTSUP, words), cause: nil
      end

      # @return [FFI::Pointer, ZMQ::Bytes] a pointer to a copy of the bytes
      def memory(bytes)
        ffi::MemoryPointer.new(:char, [bytes.bytesize, 1].max).put_bytes(0, bytes)
      rescue ::ZMQ::NotSupportedError
        ::ZMQ::Bytes.new(bytes)
      end
    end
  end
end
