# frozen_string_literal: true

module ZMQ
  # Makes sockets and ends them. As in libzmq, a new socket has an infinite linger; but the end of
  # the process waits at most {EXIT_LINGER} and one second for unsent messages.
  class Context
    # Milliseconds that the end of the process waits for unsent messages of an infinite linger.
    EXIT_LINGER = 5000
    # Seconds that {#terminate} waits for other threads to close their sockets.
    PATIENCE = 5
    # Seconds between two checks whether other threads have closed their sockets.
    POLL_INTERVAL = 0.01
    private_constant :POLL_INTERVAL

    # @return [Handle, nil] represents libzmq's context; nil once the context is terminated
    attr_reader :context
    alias_method :pointer, :context
    attr_reader :io_threads, :max_sockets

    # @return [Context, nil] nil if {#initialize} raises
    def self.create(opts = {})
      new(opts)
    rescue ContextError
      nil
    end

    # @param opts [Hash, Integer] `io_threads:` (1) and `max_sockets:` (1023); an Integer is the
    #   number of I/O threads
    def initialize(opts = {})
      opts = {io_threads: opts} unless opts.respond_to?(:empty?)
      @io_threads = opts[:io_threads] || IO_THREADS_DFLT
      @max_sockets = opts[:max_sockets] || MAX_SOCKETS_DFLT
      @godwit = Godwit::Context.new(io_threads: @io_threads, max_sockets: @max_sockets, linger: nil)
      @godwit.exit_linger = EXIT_LINGER
      @context = Handle.new(self, @godwit.pointer)
    rescue Godwit::OptionError, Godwit::TooManySocketsError => error
      errno = Failures.errno_of(error)
      Failures.set_errno(errno)
      raise ContextError.new("zmq_ctx_set", -1, errno, error.message), cause: error
    end

    # Ends all calls on the context's sockets, now and later: they return -1, with ETERM. Waits at
    # most {PATIENCE} until other threads have closed the sockets that they used last, and closes
    # all open sockets. Then waits until all messages are sent, at most for the sockets' linger.
    def terminate
      godwit, @godwit = @godwit, nil
      @context = nil
      return 0 if godwit.nil? || godwit.forked? # only the parent process ends the context
      godwit.shutdown
      finish = Godwit::Timeout.now + PATIENCE
      sockets = open_sockets
      sleep(POLL_INTERVAL) while Godwit::Timeout.now < finish && sockets.any?(&:used_elsewhere?)
      godwit.close
      0
    end

    # @return [Socket, nil] nil if {Socket#initialize} raises
    def socket(type) = Socket.create(self, type)

    # @private -- and so are the methods below
    def open_sockets
      sockets = Godwit::Compat::FFIRzmq::SOCKETS.to_a
      sockets.select { |socket| socket.godwit && socket.context.equal?(self) }
    end

    attr_reader :godwit
    def terminated? = @godwit.nil?
  end
end
