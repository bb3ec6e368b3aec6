# frozen_string_literal: true

require "weakref"

module ZMQ
  # Makes sockets, and ends them. Each is a Godwit::Context, whose sockets start with a linger
  # without limit, as in libzmq. The process itself waits at its end for {EXIT_LINGER}, and a second
  # at most beyond.
  class Context
    # Milliseconds that the end of the process gives what was sent, where linger is without limit.
    EXIT_LINGER = 5000
    # Seconds that {#terminate} gives other threads to close their sockets.
    PATIENCE = 5
    # Seconds between two looks at them.
    LOOK = 0.01
    private_constant :LOOK

    # @return [Handle, nil] stands for libzmq's context; nil once it is terminated
    attr_reader :context
    alias_method :pointer, :context
    # @return [Integer] as it was made
    attr_reader :io_threads
    # @return [Integer] as it was made
    attr_reader :max_sockets

    # @param opts [Hash, Integer] see {#initialize}
    # @return [Context, nil] nil when it cannot be made
    def self.create(opts = {})
      new(opts)
    rescue ContextError
      nil
    end

    # @param opts [Hash, Integer] `io_threads:` (1) and `max_sockets:` (1023); an Integer: number of
    #   I/O threads
    # @raise [ContextError]
    def initialize(opts = {})
      opts = {io_threads: opts} unless opts.respond_to?(:empty?)
      @io_threads = opts[:io_threads] || IO_THREADS_DFLT
      @max_sockets = opts[:max_sockets] || MAX_SOCKETS_DFLT
      @godwit = Godwit::Context.new(io_threads: @io_threads, max_sockets: @max_sockets, linger: nil)
      @godwit.__send__(:_set_linger, -1, EXIT_LINGER)
      @sockets = [] # WeakRefs
      @lock = Mutex.new
      @sweep_at = 16
      @context = Handle.new(self, @godwit.pointer)
    rescue Godwit::OptionError, Godwit::TooManySocketsError => error
      failed("zmq_ctx_set", error)
    end

    # Ends the calls that wait on its sockets, and all later ones: they give -1 and ETERM. Waits
    # until other threads have closed the sockets that they used last, {PATIENCE} at most, and
    # closes those that are left. Then waits until all that was sent has gone, as long as the
    # sockets' linger says. (ffi-rzmq waits for ever for sockets that nobody closes.)
    # @return [Integer] 0
    def terminate
      godwit, @godwit = @godwit, nil
      @context = nil
      return 0 if godwit.nil? || !godwit.__send__(:_own?) # a forked child leaves it to its parent
      godwit.shutdown
      finish = Godwit::Timeout.now + PATIENCE
      sleep(LOOK) while Godwit::Timeout.now < finish && open_sockets.any?(&:used_elsewhere?)
      godwit.close
      0
    end

    # @private
    # A socket of its own was made.
    def note(socket)
      @lock.synchronize do
        if @sockets.size >= @sweep_at
          @sockets.select!(&:weakref_alive?)
          @sweep_at = 16 + 2 * @sockets.size
        end
        @sockets << WeakRef.new(socket)
      end
    end

    # @private
    # @return [Array<Socket>]
    def open_sockets
      @lock.synchronize { @sockets.dup }.filter_map do |one|
        socket = one.__getobj__
        socket if socket.godwit
      rescue WeakRef::RefError
        nil # it was collected
      end
    end

    # @param type [Integer] such as `REQ`
    # @return [Socket, nil] nil when it cannot be made
    def socket(type)
      Socket.new(self, type)
    rescue ContextError
      nil
    end

    # @private
    # @return [Godwit::Context, nil] nil once it is terminated
    attr_reader :godwit

    # @private
    def terminated? = @godwit.nil?

    private

    def failed(source, error)
      errno = Godwit::Compat::FFIRzmq::Failures.errno_of(error)
      Godwit::Compat::FFIRzmq::Failures.note(errno)
      raise ContextError.new(source, -1, errno, error.message), cause: error
    end
  end
end
