# frozen_string_literal: true

module Godwit
  # The methods that depend on the running Ruby. mruby/lib/prologue.rb defines the same methods for
  # mruby, which compiles some files of lib (mruby/manifest).
  module Runtime
    # The largest value of an unsigned option of 64 bits.
    MAX_UINT64 = 2**64 - 1
    # Mutex#synchronize raises this error in a trap handler.
    LockError = ThreadError

    class << self
      # @return [Float] seconds on the monotonic clock
      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      # Runs the block, in which interrupts arrive only in a wait.
      def defer_interrupts(&block) = Thread.handle_interrupt(Object => :on_blocking, &block)
      def shareable(object) = defined?(Ractor) ? Ractor.make_shareable(object) : object.freeze

      # Makes methods from source text, which any Ractor may call. A method from a block belongs to
      # the Ractor that made it.
      def define_accessors(mod, readers, writers)
        readers = readers.map { |name| "def #{name} = get(:#{name});" }
        writers = writers.map { |name| "def #{name}=(value); set(:#{name}, value); end;" }
        mod.module_eval([*readers, *writers].join, __FILE__, __LINE__)
      end

      # @return [Boolean] whether this is the main Ractor; true where Ruby has no Ractors
      def main_ractor? = !defined?(Ractor) || Ractor.current == Ractor.main

      # @return [Array<Symbol>] the keywords of a class's `initialize`; `**` stands for any other
      def keywords(klass)
        klass.instance_method(:initialize).parameters.filter_map do |kind, name|
          case kind
          when :key, :keyreq then name
          when :keyrest then :**
          end
        end
      end

      def similar(name, names)
        return unless defined?(DidYouMean::SpellChecker)
        DidYouMean::SpellChecker.new(dictionary: names).correct(name.to_s).first
      end

      def io(object) = IO.try_convert(object)
      # Prints a warning about an exception in the user's block.
      def report(text, error) = warn("#{text} #{error.full_message(highlight: false)}")

      def strerror(errno) = SystemCallError.new(nil, errno).message
      # @return [Class] the Errno class of the number; SystemCallError if it has none
      def errno_class(errno) = SystemCallError.new(nil, errno).class

      # @return [String] in UTF-8, with `?` or U+FFFD for each character that UTF-8 does not have
      def utf8(text) = text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
      # @return [String] with `?` for each byte that is no character
      def scrub(text) = text.scrub("?")
      # @return [String] in UTF-8, one line without characters that control a terminal
      def printable(text) = Printable.text(text)
      def ascii(text) = text.dup.force_encoding(Encoding::US_ASCII)

      # @return [String] in UTF-8 if the bytes are text, else binary
      def text(bytes)
        text = bytes.dup.force_encoding(Encoding::UTF_8)
        text.valid_encoding? ? text : text.b
      end

      # @return [Boolean] whether a socket of another process is bound to the path. The probe has
      #   another socket type: the kernel refuses its connect, and the bound socket does not notice
      def bound_elsewhere?(path)
        return false unless main_ractor? # another Ractor cannot use Ruby's library socket
        require "socket"
        probe = ::Socket.new(:UNIX, :DGRAM)
        probe.connect(::Socket.sockaddr_un(path))
        true
      rescue Errno::EPROTOTYPE, ::SocketError # JRuby raises SocketError for any refusal
        own = own_inodes # before `inodes`, since libzmq may close a socket in between
        bound = inodes(path)
        bound.any? && (bound & own).empty?
      rescue SystemCallError, ArgumentError
        false
      ensure
        probe&.close
      end

      private

      # @return [Array<String>] the inodes of the UNIX sockets with this path
      def inodes(path)
        File.foreach("/proc/net/unix", mode: "rb").filter_map do |line|
          fields = line.chomp.split(" ", 8)
          fields[6] if fields[7] == path.b
        end
      end

      def own_inodes
        Dir.children("/proc/self/fd").filter_map do |number|
          File.readlink("/proc/self/fd/#{number}")[/\Asocket:\[(\d+)\]/, 1]
        rescue Errno::ENOENT
          nil # the descriptor that read the folder is closed now
        end
      end
    end
  end
  private_constant :Runtime
end
