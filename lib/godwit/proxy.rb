# frozen_string_literal: true

require_relative "proxy/patterns"

module Godwit
  # Moves messages between two sockets, in each direction that their types allow, without Ruby's
  # lock. Unlike libzmq's `zmq_proxy` it can be stopped, paused and asked for statistics.
  #
  #   proxy = Godwit::Proxy.new(router, dealer)
  #   proxy.run # until another thread calls stop, a signal comes, or one of the sockets is closed
  #
  #   Godwit::Proxy.queue("tcp://127.0.0.1:5555", "ipc:///tmp/workers") do |proxy|
  #     proxy.statistics.frontend.received # the proxy runs until the block ends
  #   end
  #
  # **Its sockets** are the proxy's while it runs: any other use of them raises {BusyError}, except
  # `close`, `closed?`, `inspect` and `endpoints`. Set options and endpoints before. The proxy ends
  # when one of its sockets, or their context, is closed.
  #
  # **High-water marks** hold: the proxy receives nothing while the other side cannot send. It
  # stores at most one message per direction, across {#pause} and {#stop}, and sends that message
  # first when it runs again. A ROUTER drops replies for a peer that is gone or at its high-water
  # mark; with `mandatory: true` the proxy waits for a peer at its mark, and counts the replies to a
  # peer that is gone.
  #
  # **Threads, fibers, signals**: any thread or fiber may call any method; {#stop}, {#pause} and
  # {#resume} also work in a `trap` block. {#run} lets other threads and fibers run, and ends within
  # 0.1 s on signals, `Thread#kill`, `Thread#raise` and `Timeout`.
  #
  # **Fork**: in a child every method raises {ForkedError}; the parent's proxy goes on.
  # @see http://api.zeromq.org/4-3:zmq-proxy zmq_proxy(3)
  class Proxy
    extend Keywords
    extend Patterns
    include AutoClose

    # The messages that went through one socket of a proxy, and the bytes of their frames.
    #
    # @attr_reader [Integer] received messages received from the socket
    # @attr_reader [Integer] received_bytes bytes of their frames
    # @attr_reader [Integer] sent messages given to the socket; a ROUTER, PUB or XPUB may drop some
    # @attr_reader [Integer] sent_bytes bytes of their frames
    Traffic = Struct.new(:received, :received_bytes, :sent, :sent_bytes)

    # The traffic of a proxy; frozen.
    #
    # @attr_reader [Traffic] frontend of the front socket
    # @attr_reader [Traffic] backend of the back socket; as `frontend` where both are one socket
    # @attr_reader [Traffic] capture the copies; all 0 without a capture socket
    # @attr_reader [Integer] dropped messages of a ROUTER with `mandatory: true` whose peer is gone
    Statistics = Struct.new(:frontend, :backend, :capture, :dropped)

    # Types that send and receive in turn, and their replacements.
    IN_TURN = {REQ: "DEALER", REP: "ROUTER"}.freeze
    # Types that have no ZMQ_FD of their own, or no peers that a proxy could serve.
    UNFIT = %i[SERVER CLIENT RADIO DISH GATHER SCATTER DGRAM PEER CHANNEL].freeze
    CAPTURING = %i[PUB XPUB PUSH PAIR DEALER].freeze
    private_constant :IN_TURN, :UNFIT, :CAPTURING

    # @return [Socket] the two sides; may be the same socket
    attr_reader :frontend, :backend
    # @return [Socket, nil] receives the copies
    attr_reader :capture

    # Makes a proxy that does not run yet.
    # @param frontend [Socket] any type but REQ, REP (use DEALER, ROUTER) and the draft types
    # @param backend [Socket] may be the frontend itself, which then gets back what it received: a
    #   REP may be both, and echoes. Behind an XSUB use an {XPUB}: a {PUB} does not forward its
    #   peers' subscriptions
    # @param capture [Socket, nil] a PUB, XPUB, PUSH, PAIR or DEALER that gets a copy of each
    #   message, in both directions. While the capture cannot send, the messages wait. Messages
    #   that the capture receives are not read
    # @raise [ArgumentTypeError] when an argument is no socket
    # @raise [ArgumentValueError] when a type does not fit, or no message could pass
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
      Registry.add(self)
    end

    # Runs until {#stop} is called.
    # @return [Statistics]
    # @raise [ClosedError] when one of its sockets, or their context, is closed meanwhile
    # @raise [ContextTerminatedError] when the sockets' context is shut down
    # @raise [StateError] when the proxy runs already
    # @raise [BusyError] when another proxy uses a socket, or a thread waits on one
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

    # Runs the proxy in the background. It ends without an error when a socket or the context is
    # closed.
    # @return [self] once the sockets belong to it
    # @raise [Error] as {#run}
    def start = launch(Object.new)
    # Tells the proxy to end. A message that the proxy has received but not sent is sent by the next
    # run. Does not wait for the end (see {#wait}). Does nothing when the proxy does not run.
    # @return [self]
    def stop = control(:stop)
    alias_method :terminate, :stop

    # Waits until the proxy has ended and its sockets are the caller's again.
    # @param timeout [Integer, Float, nil] seconds
    # @return [self, nil] nil when time is up
    # @raise [Error] that ended the proxy, unless its sockets or their context were closed
    def wait(timeout = nil)
      Timeout.check(timeout)
      thread = @thread
      return self unless thread
      return unless thread.join(timeout)
      raise @error if @error && !ending?(@error)
      self
    end
    alias_method :join, :wait
    # Receives no more messages, except one whose receive has begun. New messages stay in libzmq's
    # queues. The pause also holds for the next {#run}.
    # @return [self]
    def pause = control(:pause)
    # Ends {#pause}.
    # @return [self]
    def resume = control(:resume)
    # @return [Boolean] whether the proxy runs, in this process
    def running? = _running? && !!@thread&.alive? # _running? is true before @thread starts
    # @return [Boolean] whether {#pause} was called, and {#resume} not since
    def paused? = _paused?

    # Counts the messages that the proxy forwarded, in all its runs. While the proxy runs, the
    # counts may be of slightly different moments.
    # @return [Statistics]
    def statistics
      counters = _counters
      sides = counters.first(12).each_slice(4).map { |numbers| Traffic.new(*numbers).freeze }
      Statistics.new(*sides, counters.last).freeze
    end

    # Stops the proxy, waits for its end, and closes the sockets that a method of {Patterns} made.
    # A second call does nothing.
    # @return [nil]
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
    # @private
    def initialize_copy(_) = raise(Errors.no_copy("proxy", "make another with Proxy.new"))

    # @private
    # Makes {#close} close these sockets too.
    def own(sockets)
      @owned = sockets
      self
    end

    private

    def control(command)
      _control(command)
      self
    end

    # No interrupt may come between the acquisition of the sockets and the start of the thread that
    # releases them. The thread starts with interrupts masked too.
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
      self
    end

    def work
      Thread.current.report_on_exception = false
      Thread.handle_interrupt(Object => :immediate) { _loop }
    rescue Error => error
      @error = error
    ensure
      _release
    end

    # Waits for the thread, so that {#run} returns or raises after the release of the sockets.
    def end_run
      return if forked?
      Thread.handle_interrupt(Object => :never) do
        _control(:stop)
        @thread.join
      end
    end

    def ending?(error) = error.is_a?(ClosedError) || error.is_a?(ContextTerminatedError)

    def check_side(name, socket, echo)
      raise Errors.bad_type(:proxy, name, "a Godwit::Socket", socket) unless socket.is_a?(Socket)
      type = socket.type
      other = IN_TURN[type] unless echo && type == :REP
      allowed = "no #{type}, which speaks in turn: take a #{other}" if other
      allowed ||= "no #{type}" if UNFIT.include?(type)
      raise Errors.bad_value(:proxy, name, allowed, socket) if allowed
    end

    def check_directions(frontend, backend)
      return if passes?(frontend, backend) || passes?(backend, frontend)
      raise Errors.bad_value(:proxy, "backend",
        "a socket that sends to, or receives from, a #{frontend.type}", backend)
    end

    def passes?(from, to)
      !ErrorHints::SEND_ONLY.include?(from.type) && !ErrorHints::RECEIVE_ONLY.include?(to.type)
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
