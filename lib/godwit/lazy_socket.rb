# frozen_string_literal: true

module Godwit
  # A socket that its block opens at the first use, and again in each forked child
  # ({Godwit.socket}). A LazySocket has the methods of its socket. A {Poller}, {Loop} or {Proxy}
  # accepts its {#socket}.
  #
  # **Threads and fibers**: any number may use it at once. The first opens the socket, the others
  # wait for it. A trap handler can use it once the socket is open. It belongs to the main Ractor.
  #
  # **Fork**: a child opens a socket of its own at its first use, and the parent's socket stays as
  # it is. If the parent closed the LazySocket before the fork, it is closed in the child too.
  class LazySocket
    TYPES = SOCKET_TYPES.keys.map { |type| Godwit.const_get(type) }.freeze
    private_constant :TYPES

    # @yieldreturn [Socket] a new socket
    # @raise [ArgumentValueError] without a block
    def initialize(&block)
      unless block
        raise Errors.of(ArgumentValueError, :new, "a lazy socket needs a block that opens it: " \
          "Godwit.socket { Godwit::PUSH.connect(endpoint) }")
      end
      @block = block
      @closed = false
      forget_parent
      ForkDetector::PER_PROCESS.add(self)
    end

    # This process's socket. The first call opens it.
    # @return [Socket]
    # @raise [ClosedError] after {#close}
    # @raise [ArgumentTypeError] when the block gives no socket
    # @raise [UnsupportedError] in a trap handler, or in the block itself, before the socket is open
    # @raise [StandardError] that the block raises; the next use calls the block again
    def socket = @socket || open

    # Sends a message, as {Socket::Messages#<<}.
    # @param message [String, Frame, Array<String, Frame>, Message]
    # @return [self]
    def <<(message)
      (@socket || open) << message
      self
    end

    # Closes this process's socket, if it is open. After that no socket is opened, neither here nor
    # in children that are forked later. A second call does nothing.
    # @return [nil]
    def close
      @closed = true
      @socket&.close
      nil
    end

    # @return [Boolean] whether {#close} was called, or this process's socket is closed
    def closed? = @closed || (!@socket.nil? && @socket.closed?)
    # @return [Boolean] whether this process has used the socket since its start or the fork
    def opened? = !@socket.nil?

    # @return [String] the socket's text, if it is open; this method opens no socket
    def inspect
      state = @socket ? @socket.inspect : "not opened"
      "#<#{self.class} #{state}#{" (closed)" if @closed && !@socket}>"
    end
    alias_method :to_s, :inspect

    # @private
    def forget_parent
      @lock = Mutex.new # at the fork, a thread of the parent may have held the old Mutex
      @socket = nil
    end

    # @private
    def initialize_copy(_original)
      raise Errors.no_copy("lazy socket", "share this one, or make another with Godwit.socket")
    end

    # The methods that programs call most. {#method_missing}, which is slower, calls all other
    # methods.
    %i[
      send send_many send_nonblock recv recv_many recv_multipart recv_nonblock recv_string each
      request serve
    ].each do |name|
      class_eval(<<~RUBY, __FILE__, __LINE__ + 1)
        def #{name}(...) = mine((@socket || open).#{name}(...)) # def recv(...) = …
      RUBY
    end

    private

    # @return [Object] the method's result, or this object if the method returned its socket
    def mine(result) = @socket.equal?(result) ? self : result

    def respond_to_missing?(name, include_private = false)
      known = @socket ? [@socket.class] : TYPES
      known.any? { |type| type.public_method_defined?(name) } || super
    end

    def method_missing(name, ...)
      return super unless respond_to_missing?(name)
      mine((@socket || open).public_send(name, ...))
    end

    def open
      lock
      begin
        @socket ||= opened
      ensure
        @lock.unlock
      end
    end

    def lock
      @lock.lock
    rescue ThreadError
      raise Errors.of(UnsupportedError, :socket, "a trap handler, and the socket's own block, " \
        "cannot wait until it is open: use it once before, or call its method `socket`")
    end

    def opened
      refuse_closed
      socket = Socket.opened_by(@block, :socket, "a lazy socket's block")
      return socket unless @closed # another thread may have closed this object during the block
      socket.close
      refuse_closed
    end

    def refuse_closed
      return unless @closed
      raise Errors.of(ClosedError, :socket, "it is closed: Godwit.socket { … } makes another")
    end
  end
end
