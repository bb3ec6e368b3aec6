# frozen_string_literal: true

module Godwit
  module Shell
    # Tells the kind of an object given as `input:` or `err:`: an IO whose descriptor the command
    # gets, a file to open for the command, or an object whose own methods read or write.
    # @private
    module Redirection
      module_function

      # @return [IO, nil] nil for another object with `to_io`, such as a GzipReader: its methods
      #   give other bytes than its descriptor
      def io(object)
        return object if object.is_a?(IO)
        object.to_io if defined?(::Tempfile) && object.is_a?(::Tempfile)
      end

      def file?(object) = defined?(::Pathname) && object.is_a?(::Pathname)

      def input?(object)
        return true if object.nil? || object.is_a?(String) || io(object)
        (object.respond_to?(:each) && !object.is_a?(Dir)) || reads?(object)
      end

      # @return [Boolean] whether the object has `read(n)`; the `read` of a CSV takes no argument
      def reads?(object) = object.respond_to?(:read) && !object.method(:read).arity.zero?

      def err?(object)
        object.respond_to?(:call) || object.respond_to?(:write) || !io(object).nil?
      end

      # @return [Boolean] whether the command itself writes to the object
      def direct?(object) = !object.respond_to?(:call) && (file?(object) || !io(object).nil?)

      def open(operation, option, path)
        mode = (option == :input) ? "rb" : "wb"
        file = Runtime.defer_interrupts { File.open(path, mode) } # opening a FIFO may wait
        return file unless file.stat.directory?
        file.close
        raise SystemCallError.new(nil, Errno::EISDIR::Errno)
      rescue SystemCallError => error
        can = (option == :input) ? "read" : "write"
        raise Errors.build(error.errno, operation, path.to_s,
          "#{option}: takes a file that this user may #{can}"), cause: nil
      end

      # Writes Ruby's buffer of an IO, so that the command's output comes after it.
      def flush(io) = Runtime.defer_interrupts { io.flush }

      # Moves the descriptor of a file to the offset up to which the program has read.
      # @return [Boolean] false when Ruby has read ahead, and cannot undo that (of a pipe)
      def settle(io)
        return true unless read_ahead?(io)
        io.pos # `pos` raises for a pipe: Ruby 3.4's seek would drop its buffered bytes
        io.seek(0, IO::SEEK_CUR)
        !read_ahead?(io)
      rescue SystemCallError
        false
      end

      # sysseek refuses an IO with bytes or characters in Ruby's buffer.
      def read_ahead?(io)
        io.sysseek(0, IO::SEEK_CUR)
        false
      rescue IOError
        true
      rescue SystemCallError
        false # the IO is no file, and Ruby has not read ahead
      end
    end
  end
end
