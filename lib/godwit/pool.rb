# frozen_string_literal: true

require_relative "pool/slots"

module Godwit
  # A limited number of sockets that threads and fibers borrow. A borrowed socket has one user.
  #
  #   pool = Godwit::Pool.new(size: 5) { Godwit::REQ.connect("tcp://127.0.0.1:5555") }
  #   pool.with { |req| req.request("hello", timeout: 1) }
  #
  # The pool lends the socket that came back last, and opens a socket when none is idle. When a
  # block does not run to its end (an exception, `break`, `return`, `throw`, a kill), its socket may
  # be in the middle of an exchange: the pool closes that socket, and opens another when needed.
  # `next` ends a block as usual.
  #
  # A block within a block borrows a second socket.
  #
  # **Threads and fibers**: any number may use the pool at once. With a `Fiber.scheduler` a wait for
  # a socket lets other fibers run. Trap handlers and other Ractors than the main one cannot use it.
  #
  # **Fork**: a child starts with no sockets, opens its own, and does not touch the parent's.
  class Pool
    extend Keywords

    # @param size [Integer] sockets that may be open at most, 1 or more
    # @param timeout [Integer, Float, nil] seconds that {#with} waits for a socket; nil: for ever
    # @yieldreturn [Socket] a new socket for the pool
    # @raise [ArgumentValueError, ArgumentTypeError] without a block, or for a wrong value
    def initialize(size: 5, timeout: 5, &block)
      unless block
        raise Errors.of(ArgumentValueError, :new, "a pool needs a block that opens a socket: " \
          "Godwit::Pool.new(size: 5) { Godwit::REQ.connect(endpoint) }")
      end
      Errors.check_positive(:new, "size:", "a number of sockets, 1 or more", size)
      Timeout.check(timeout)
      @size = size
      @timeout = timeout
      @block = block
      @slots = Slots.new(size)
      ForkDetector::PER_PROCESS.add(self)
    end

    # @return [Integer] sockets that may be open at most
    attr_reader :size

    # Lends a socket to the block.
    # @param timeout [Integer, Float, nil] seconds to wait for a socket; nil: for ever
    # @yieldparam socket [Socket] which no other thread or fiber uses meanwhile
    # @return [Object] the block's value
    # @raise [TimeoutError] when all sockets stay in use for that long
    # @raise [ClosedError] after {#close}
    # @raise [ArgumentTypeError] when the pool's block gives no socket
    # @raise [UnsupportedError] in a trap handler
    # @raise [StandardError] that one of the blocks raises
    def with(timeout: @timeout)
      Timeout.check(timeout)
      slots = @slots
      loan = Slots::Loan.new
      slots.lend(loan, timeout) or raise exhausted(timeout)
      value = yield(loan.socket ||= Socket.opened_by(@block, :with, "a pool's block"))
      loan.whole = true
      value
    ensure
      slots.take_back(loan) if loan&.lent
    end

    # @return [Integer] sockets that can be borrowed without a wait
    def available = @slots.available

    # Closes the idle sockets at once, and each borrowed socket when its block ends. A thread that
    # waits for a socket gets {ClosedError}. A second call does nothing.
    # @return [nil]
    def close = @slots.close
    # @return [Boolean]
    def closed? = @slots.closed?

    # @return [String]
    def inspect
      "#<#{self.class} size=#{size} available=#{available}#{" (closed)" if closed?}>"
    end
    alias_method :to_s, :inspect

    # @private
    def forget_parent
      @slots = Slots.new(@size, closed: closed?)
    end

    # @private
    def initialize_copy(_original)
      raise Errors.no_copy("pool", "share this one, any thread may use it, or make another")
    end

    private

    def exhausted(timeout)
      Errors.of(TimeoutError, :with, "all #{size} sockets of the pool were in use for #{timeout} " \
        "s: make size: larger, or the blocks shorter")
    end
  end
end
