# frozen_string_literal: true

require_relative "proxy/patterns"
require_relative "proxy/statistics"

module Godwit
  # Moves messages between two sockets, both ways as far as their types allow, in C and without
  # Ruby's lock. It does what libzmq's `zmq_proxy` does, and can be stopped, paused and asked at any
  # time.
  #
  #   proxy = Godwit::Proxy.new(router, dealer)
  #   proxy.run # until another thread calls stop, a signal comes, or one of the sockets is closed
  #
  #   Godwit::Proxy.queue("tcp://127.0.0.1:5555", "ipc:///tmp/workers") do |proxy| # on a thread of
  #   its own, till the block ends
  #     proxy.statistics.frontend.received
  #   end
  #
  # **Its sockets** are lent to it while it runs: every other use of them raises {BusyError}, but
  # for `close`, `closed?`, `inspect` and `endpoints`. Set them up before. `close` of one of them,
  # or of their context, ends the proxy.
  #
  # **High-water marks** hold: it takes no message while the other side has no room, so that senders
  # wait and memory does not grow. At most one message each way is in its hand: one that found no
  # room after all. It stays there over {#pause} and {#stop}, and goes first when the same proxy
  # runs again. A ROUTER drops replies for a peer that is gone or at its high-water mark, as always
  # in ZeroMQ; with `mandatory: true` it waits for the full one, and a reply to one that is gone is
  # dropped and counted.
  #
  # **Threads, fibers, signals**: any may call any method; {#stop}, {#pause} and {#resume} also work
  # in a `trap` block. {#run} lets other threads run, and under a `Fiber.scheduler` other fibers,
  # since the loop has a thread of its own; it ends within 0.1 s on signals, `Thread#kill`,
  # `Thread#raise` and `Timeout`, and the sockets are usable again then.
  #
  # **Fork**: in a child every method raises {ForkedError}; the parent's goes on.
  #
  # @see http://api.zeromq.org/4-3:zmq-proxy zmq_proxy(3)
  class Proxy
    extend Keywords
    extend Patterns

    # Types that speak in turn, which a proxy cannot.
    IN_TURN = {REQ: "DEALER", REP: "ROUTER"}.freeze
    # Types that have no ZMQ_FD of their own, or no peers that a proxy could serve.
    UNFIT = %i[SERVER CLIENT RADIO DISH GATHER SCATTER DGRAM PEER CHANNEL].freeze
    # Types that can take the copies.
    CAPTURING = %i[PUB XPUB PUSH PAIR DEALER].freeze
    private_constant :IN_TURN, :UNFIT, :CAPTURING

    # @return [Socket] the two sides; the same one twice where there is one
    attr_reader :frontend, :backend

    # @return [Socket, nil] which gets the copies
    attr_reader :capture

    # Nothing runs yet.
    # @param frontend [Socket] any type but REQ, REP (take DEALER, ROUTER) and the draft types
    # @param backend [Socket] may be the same, which then gets back what it received: a REP may be
    #   both, and echoes. A {PUB} keeps the subscriptions of its peers to itself: behind an XSUB
    #   take an {XPUB}
    # @param capture [Socket, nil] a PUB, XPUB, PUSH, PAIR or DEALER that gets a copy of each
    #   message, both ways. One that blocks makes the messages wait, the proxy can still be stopped;
    #   nothing that it receives is read
    # @raise [ArgumentTypeError] when one is no socket
    # @raise [ArgumentValueError] when a type does not fit, or nothing could go either way
    # @raise [ClosedError, ForkedError, BusyError] when a socket cannot be used
    def initialize(frontend, backend, capture: nil)
      raise Errors.build(StateError, :proxy, nil, "Proxy.new makes another") if @frontend
      echo = frontend.equal?(backend)
      check_side("frontend", frontend, echo)
      check_side("backend", backend, echo)
      check_directions(frontend, backend)
      check_capture(capture, frontend, backend) if capture
      @frontend = frontend
      @backend = backend
      @capture = capture
      @owned = []
      _open(frontend, backend, capture)
    end

    # Runs until somebody calls {#stop}.
    # @return [Statistics]
    # @raise [ClosedError] when one of its sockets, or their context, is closed meanwhile
    # @raise [ContextTerminatedError] when their context is shut down
    # @raise [StateError] when it runs already
    # @raise [BusyError] when a socket is lent to another proxy, or somebody waits on it
    # @raise [ForkedError]
    def run
      token = Object.new
      begin
        launch(token)
        @thread.join
      ensure
        end_run if @token.equal?(token)
      end
      raise @error if @error
      statistics
    end

    # Runs on a thread of its own. That ends quietly when a socket or the context is closed.
    # @return [self] with the sockets lent already
    # @raise [Error] as {#run}
    def start
      launch(Object.new)
      self
    end

    # Ends it, with what is in its hand kept; does not wait for the end (see {#wait}). One that does
    # not run stays as it is.
    # @return [self]
    # @raise [ForkedError]
    def stop
      _control(:stop)
      self
    end
    alias_method :terminate, :stop

    # Waits until it has ended and its sockets are the caller's again.
    # @param timeout [Integer, Float, nil] seconds
    # @return [self, nil] nil when time is up
    # @raise [Error] that ended it, unless its sockets or their context were closed
    def wait(timeout = nil)
      Timeout.milliseconds(timeout) # refuses what is no duration
      thread = @thread
      return self unless thread
      return unless thread.join(timeout)
      raise @error if @error && !ending?(@error)
      self
    end
    alias_method :join, :wait

    # Takes no message from now on, except one that it is just taking; those that come wait where
    # high-water marks let them. Holds for the next {#run} too.
    # @return [self]
    # @raise [ForkedError]
    def pause
      _control(:pause)
      self
    end

    # Goes on.
    # @return [self]
    # @raise [ForkedError]
    def resume
      _control(:resume)
      self
    end

    # @return [Boolean] whether its sockets are lent to it, in this process
    def running?
      _running?
    end

    # @return [Boolean] whether {#pause} was called last
    # @raise [ForkedError]
    def paused?
      _paused?
    end

    # What it moved, in all its runs. Exact when it is paused or stopped; else each number by itself
    # is.
    # @return [Statistics]
    # @raise [ForkedError]
    def statistics
      counters = _counters
      sides = counters.first(12).each_slice(4).map { |numbers| Traffic.new(*numbers).freeze }
      Statistics.new(*sides, counters.last).freeze
    end

    # Stops it, waits for its end, and closes the sockets that it made itself ({Patterns#queue} and
    # the others). A second call does nothing.
    # @return [nil]
    # @raise [ForkedError]
    def close
      stop
      @thread&.join
      @owned.each(&:close)
      nil
    end

    # @return [String]
    def inspect
      state = running? ? "running" : "not running"
      capture = " capture #{@capture.inspect}" if @capture
      "#<#{self.class} #{@frontend.inspect} #{@backend.inspect}#{capture} (#{state})>"
    end
    alias_method :to_s, :inspect

    # dup and clone make no sense.
    # @private
    def initialize_copy(_original)
      raise Errors.build(
        UnsupportedError, :dup, nil, "a proxy cannot be copied: make another with Proxy.new"
      )
    end

    # Has {#close} close these too.
    # @private
    def own(sockets)
      @owned = sockets
      self
    end

    private

    # No interrupt may come between lending the sockets and having a thread that gives them back; it
    # starts with the same mask.
    def launch(token)
      Thread.handle_interrupt(Object => :never) do
        unless _acquire
          raise Errors.build(StateError, :proxy, nil, "this proxy runs already: stop it first")
        end
        @error = nil
        begin
          @thread = Worker.new { work }
          @thread.name = "godwit proxy"
        rescue ThreadError
          _release
          raise
        end
        @token = token
      end
    end

    def work
      Thread.current.report_on_exception = false
      Thread.handle_interrupt(Object => :immediate) { _loop }
    rescue Error => error
      @error = error
    ensure
      _release
    end

    # Whatever ended {#run}, the sockets are given back before it returns.
    def end_run
      return if _forked?
      Thread.handle_interrupt(Object => :never) do
        _control(:stop)
        @thread.join
      end
    end

    def ending?(error)
      error.is_a?(ClosedError) || error.is_a?(ContextTerminatedError)
    end

    def check_side(name, socket, echo)
      raise Errors.bad_type(:proxy, name, "a Godwit::Socket", socket) unless socket.is_a?(Socket)
      other = IN_TURN[socket.type] unless echo && socket.type == :REP
      if other
        raise Errors.bad_value(
          :proxy, name, "no #{socket.type}, which speaks in turn: take a #{other}", socket
        )
      end
      if UNFIT.include?(socket.type)
        raise Errors.bad_value(:proxy, name, "no #{socket.type}", socket)
      end
    end

    def check_directions(frontend, backend)
      ways =
        (
          if frontend.equal?(backend)
            [[frontend, backend]]
          else
            [[frontend, backend], [backend, frontend]]
          end
        )
      if ways.any? { |from, to|
           !ErrorHints::SEND_ONLY.include?(from.type) && !ErrorHints::RECEIVE_ONLY.include?(to.type)
         }
        return
      end
      raise Errors.bad_value(
        :proxy, "backend", "a socket to which, or from which, a #{frontend.type}'s messages can go",
        backend
      )
    end

    def check_capture(capture, frontend, backend)
      unless capture.is_a?(Socket)
        raise Errors.bad_type(:proxy, "capture:", "a Godwit::Socket that sends, or nil", capture)
      end
      unless CAPTURING.include?(capture.type)
        raise Errors.bad_value(:proxy, "capture:", "a #{CAPTURING.join(", ")} socket", capture)
      end
      return unless capture.equal?(frontend) || capture.equal?(backend)
      raise Errors.bad_value(:proxy, "capture:", "another socket than the two sides", capture)
    end
  end
end
