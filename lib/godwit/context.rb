# frozen_string_literal: true

module Godwit
  # Holds libzmq's I/O threads and the sockets that share them; `inproc` endpoints belong to one
  # context. Most programs need only the default context ({Godwit.context}).
  #
  # **Threads and fibers**: any may use a Context, which is frozen: libzmq stores its options.
  #
  # **At exit** open sockets are closed, and the process waits until they have sent their messages,
  # at most their longest linger and a second. `exit!` and a fatal signal do not wait.
  #
  # **Fork**: in a child every method of an inherited context raises {ForkedError}, and the default
  # context is a new one.
  # @see http://api.zeromq.org/4-3:zmq-ctx-new zmq_ctx_new(3)
  class Context
    extend Keywords
    include Options::ContextAccessors

    # The default linger: seconds for which libzmq goes on sending a closed socket's messages.
    DEFAULT_LINGER = 5
    # Seconds of linger for a socket that needs none. With 0 libzmq aborts the process when a
    # connection breaks in the middle of a multipart message ({file:docs/limits.md}).
    BRIEF_LINGER = 0.05

    class << self
      # Makes a context. With a block: yields it, closes it afterwards, and gives the block's value.
      # @param options [Hash] see {#initialize}
      # @return [Context] or the block's value
      def new(**options, &block) = AutoClose.with(super, &block)

      # @private
      # @return [Context] the given context; the default context for nil
      def of(context, operation)
        return context || default if context.nil? || context.is_a?(Context)
        allowed = "a Godwit::Context, or nil for the process's own"
        raise Errors.bad_type(operation, "context:", allowed, context)
      end

      # The process's default context. The first call makes it, and the first call in a forked child
      # or after it was closed makes a new one.
      # @return [Context]
      def default
        known = _default and return known
        mine = new
        winner = _propose(mine) # another thread may have proposed its context first
        mine.close unless winner.equal?(mine)
        winner
      end
    end

    # @param linger [Integer, Float, nil] seconds that the context's sockets go on sending after
    #   their close; nil: for ever. A SUB always starts with 0
    # @param socket_options [Hash{Symbol => Object}] initial options of the context's sockets
    # @param options [Hash{Symbol => Object}] options of the context: `io_threads:` (default 1),
    #   `max_sockets:` (1023), `ipv6:`, `thread_name_prefix:`, `thread_priority:`…
    #   ({file:docs/options.md})
    # @raise [OptionError] for an unknown option or a wrong value
    # @raise [ArgumentTypeError] when `socket_options:` is no Hash
    # @raise [TooManySocketsError] when the process has no free descriptor
    def initialize(linger: DEFAULT_LINGER, socket_options: {}, **options)
      raise Errors.open_already(:new, "context", "Context.new") if frozen?
      unless socket_options.is_a?(Hash)
        raise Errors.bad_type(:new, "socket_options:", "a Hash of options", socket_options)
      end
      socket_options = socket_options.transform_values do |value|
        value.is_a?(String) ? value.dup.freeze : value
      end
      Keywords.refuse_nil(:new, socket_options)
      socket_options.each { |name, value| Options.fetch(name).encode(value) }
      @socket_options = Runtime.shareable(socket_options)
      wanted = options.map { |name, value| [Options.fetch(name, :context), value] }
      wanted.map! { |option, value| [option, option.encode(value), value] }
      linger = Options.fetch(:linger).encode(linger)
      _open
      _set_linger(linger)
      wanted.each { |option, raw, value| option.hand_over(value) { _set_option(option.id, raw) } }
      freeze
    end

    # @return [Hash{Symbol => Object}] initial options of the context's sockets
    attr_reader :socket_options

    # Makes a socket in this context.
    # @param type [Symbol, String] such as :REQ
    # @param options [Hash] of the socket
    # @return [Socket] of the class of that name; with a block, the block's value
    # @raise [ArgumentValueError] when there is no such type
    def socket(type, **options, &block)
      Socket.class_of(type).new(context: self, **options, &block)
    end

    # @return [Float, Integer, nil] seconds of linger that new sockets start with
    def linger = Options.fetch(:linger).decode(_linger)

    # @param seconds [Float, Integer, nil] linger of sockets that are made later; nil: for ever
    def linger=(seconds)
      _set_linger(Options.fetch(:linger).encode(seconds))
    end

    # @param name [Symbol] of an option, see {file:docs/options.md}
    # @return [Object] the option's value
    # @raise [OptionError] when the option is unknown or cannot be read
    def get(name)
      option = Options.fetch(name, :context)
      option.check_readable
      option.decode(_get_option(option.id))
    end

    # @param name [Symbol] of an option; most take effect only before the first socket is made
    # @param value [Object]
    # @return [Object] the value
    # @raise [OptionError] when the option is unknown or cannot be set, or for a wrong value
    def set(name, value)
      option = Options.fetch(name, :context)
      raw = option.encode(value)
      option.hand_over(value) { _set_option(option.id, raw) }
      value
    end

    # Ends every use of the context's sockets: waits and later calls raise {ContextTerminatedError}.
    # Does not wait; works in a signal handler too. {#close} closes the sockets.
    # @return [nil]
    def shutdown = _shutdown
    # Closes all sockets of the context, then waits until they have sent their messages, at most
    # their longest linger and a second. Threads that wait on them get {ClosedError}. An interrupt
    # ends the wait; libzmq goes on sending. A second call does nothing.
    # @return [nil]
    def close = _close
    # @return [Boolean]
    def closed? = _closed?
    # @return [Boolean] whether the context is open and was made by this process
    def usable? = !_closed? && _own?
    # @return [Integer] address of libzmq's context, for other libraries
    def pointer = _pointer
    # @private
    def forked? = !_own?

    # @private
    # Gives later sockets an unlimited linger. At exit the process waits `milliseconds` for them.
    def exit_linger=(milliseconds)
      _set_linger(-1, milliseconds)
    end

    # @return [String]
    def inspect
      return "#<#{self.class} of another process>" if forked?
      return "#<#{self.class} closed>" if closed?
      "#<#{self.class} io_threads=#{io_threads} max_sockets=#{max_sockets}>"
    end

    # @private
    def initialize_copy(_original)
      fix = "share this one, any thread may use it, or make another with Context.new"
      raise Errors.no_copy("context", fix)
    end
  end
end
