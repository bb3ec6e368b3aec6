# frozen_string_literal: true

# What the files of mruby/manifest need and mruby lacks. A class of the VM stays as it is.

# mruby has no private constants.
class Module
  unless method_defined?(:private_constant)
    def private_constant(*)
    end
  end
end

class String
  unless method_defined?(:b)
    # mruby's Strings have no encoding.
    def b = dup
  end
end

unless Object.const_defined?(:Mutex)
  # A VM belongs to one thread. A fiber that is dropped while it holds the lock must not lock out
  # the others, so there is no lock.
  class Mutex
    def synchronize = yield
  end
end

module Godwit
  module Runtime
    # mruby 3.1 has neither SystemCallError nor Errno.
    OWN_ERRNO = !Object.const_defined?(:SystemCallError)
  end
end

if Godwit::Runtime::OWN_ERRNO
  class SystemCallError < StandardError
    # mruby's C code calls it as soon as the class exists.
    def self._sys_fail(errno, message = nil)
      text = Godwit::Runtime.strerror(errno)
      text = "#{text} - #{message}" if message
      raise Godwit::Runtime.errno_class(errno), text
    end

    def errno
      number = self.class::Errno
      number if number.is_a?(Integer)
    end
  end

  module Errno
    %w[
      EACCES EADDRINUSE EADDRNOTAVAIL EAFNOSUPPORT EAGAIN EBADF EBUSY ECONNREFUSED ECONNRESET EEXIST
      EFAULT EHOSTUNREACH EINTR EINVAL EMFILE EMSGSIZE ENAMETOOLONG ENETDOWN ENETUNREACH ENFILE
      ENOBUFS ENODEV ENOENT ENOMEM ENOTCONN ENOTDIR ENOTSOCK EOPNOTSUPP EPERM EPIPE EPROTONOSUPPORT
      EROFS ETIMEDOUT
    ].each do |name|
      number = Godwit::Backend::MRuby.errno(name)
      const_set(name, Class.new(SystemCallError)).const_set(:Errno, number) if number
    end
  end
end

class IO
  unless const_defined?(:WaitReadable)
    module WaitReadable; end
    module WaitWritable; end
  end

  unless const_defined?(:EAGAINWaitReadable)
    class EAGAINWaitReadable < Errno::EAGAIN
      include WaitReadable
    end

    class EAGAINWaitWritable < Errno::EAGAIN
      include WaitWritable
    end
  end
end

module Godwit
  # As lib/godwit/runtime.rb.
  module Runtime
    # mruby's Integers have 64 bits and a sign.
    MAX_UINT64 = 0x7fff_ffff_ffff_ffff
    # Nothing raises it: there are no locks.
    LockError = Class.new(StandardError)

    class << self
      def now = Backend::MRuby.now
      # Nothing interrupts a VM.
      def defer_interrupts = yield
      def shareable(object) = object.freeze

      def define_accessors(mod, readers, writers)
        readers.each { |name| mod.define_method(name) { get(name) } }
        writers.each { |name| mod.define_method(:"#{name}=") { |value| set(name, value) } }
      end

      # Options checks all names that Ruby itself does not.
      def keywords(_klass) = [:**]
      def similar(_name, _names) = nil

      def io(object)
        return object if object.is_a?(IO)
        object.to_io if object.respond_to?(:to_io)
      end

      def report(text, error)
        place = (error.backtrace || []).first
        $stderr.write("#{text} #{"#{place}: " if place}#{error.message} (#{error.class})\n")
      end

      def strerror(errno) = Backend::MRuby.strerror(errno)

      def errno_class(errno)
        return SystemCallError.new(nil, errno).class unless OWN_ERRNO
        name = Errno.constants.find { |one| errno == Errno.const_get(one)::Errno }
        name ? Errno.const_get(name) : SystemCallError
      end

      # Strings have no encoding.
      def utf8(text) = text
      def scrub(text) = text
      def printable(text) = text
      def ascii(text) = text.dup
      def text(bytes) = bytes

      # mruby has no sockets of the system to find out.
      def bound_elsewhere?(_path) = false
    end
  end
end
