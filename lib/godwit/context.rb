# frozen_string_literal: true

module Godwit
  # Holds libzmq's I/O threads and the sockets that share them; `inproc` endpoints are known within
  # one context. A process has a default one ({Godwit.context}), which is enough for most programs.
  #
  # **Threads and fibers**: any may use it at any time. It is frozen; its options are kept in
  # libzmq.
  #
  # **At exit** sockets still open are closed, and the process waits for what they have not sent
  # yet, at most their longest linger and a second. `exit!` and a fatal signal wait for nothing.
  #
  # **Fork**: in a child every method of an inherited context raises {ForkedError}; the default
  # context is a new one.
  #
  # @see http://api.zeromq.org/4-3:zmq-ctx-new zmq_ctx_new(3)
  class Context
    extend Keywords
    include Options::ContextAccessors

    # Seconds that a closed socket goes on trying to deliver, where nothing else is said.
    DEFAULT_LINGER = 5
    # Seconds of linger for a socket that needs none: with 0, libzmq aborts the process when the
    # connection breaks while a message of several frames is half sent ({file:docs/limits.md}).
    BRIEF_LINGER = 0.05

    class << self
      # Makes a context. With a block: yields it, closes it afterwards, and gives the block's value.
      # @return [Context] or the block's value
      # @see #initialize
      def new(*arguments, **options, &block)
        AutoClose.with(super, &block)
      end

      # The process's own, made when first asked for, and anew in a forked child or after it was
      # closed.
      # @return [Context]
      def default
        known = _default
        return known if known
        mine = new
        winner = _propose(mine) # another thread may have been quicker
        mine.close unless winner.equal?(mine)
        winner
      end
    end

    # @param linger [Integer, Float, nil] seconds that its sockets go on trying to deliver after
    #   their close; nil: for ever. A SUB starts with 0 all the same: it has nothing that is worth a
    #   wait
    # @param socket_options [Hash{Symbol => Object}] options that each of its sockets starts with
    # @param options [Hash{Symbol => Object}] options of the context: `io_threads:` (default 1),
    #   `max_sockets:` (1023), `ipv6:`, `thread_name_prefix:`, `thread_priority:`…
    #   ({file:docs/options.md})
    # @raise [OptionError] when one is unknown or its value is not allowed
    # @raise [ArgumentTypeError] when `socket_options:` is no Hash
    # @raise [TooManySocketsError] when the process has no descriptor left
    def initialize(linger: DEFAULT_LINGER, socket_options: {}, **options)
      if frozen?
        raise Errors.build(
          StateError, :new, nil, "this context is open already; Context.new makes another"
        )
      end
      unless socket_options.is_a?(Hash)
        raise Errors.bad_type(:new, "socket_options:", "a Hash of options", socket_options)
      end
      socket_options =
        socket_options.to_h { |name, value| [name, value.is_a?(String) ? value.dup.freeze : value] }
      socket_options.each { |name, value| Options.fetch(name).encode(value) }
      @socket_options =
        defined?(Ractor) ? Ractor.make_shareable(socket_options) : socket_options.freeze
      wanted = options.map { |name, value| [Options.fetch(name, :context), value] }
      wanted.map! { |option, value| [option, option.encode(value), value] }
      linger = Options.fetch(:linger).encode(linger)
      _open
      _set_linger(linger)
      wanted.each { |option, raw, value| option.hand_over(value) { _set_option(option.id, raw) } }
      freeze
    end

    # @return [Hash{Symbol => Object}] options that each of its sockets starts with
    attr_reader :socket_options

    # Makes a socket in this context.
    # @param type [Symbol, String] such as :REQ
    # @param options [Hash] of the socket
    # @return [Socket] of the class of that name; with a block, what the block gives
    # @raise [ArgumentValueError] when there is no such type
    def socket(type, **options, &block)
      Socket.class_of(type).new(context: self, **options, &block)
    end

    # @return [Float, Integer, nil] seconds of linger that new sockets start with
    def linger
      Options.fetch(:linger).decode(_linger)
    end

    # @param seconds [Float, Integer, nil] for sockets made from now on; nil: for ever
    def linger=(seconds)
      _set_linger(Options.fetch(:linger).encode(seconds))
    end

    # @param name [Symbol] of an option, see {file:docs/options.md}
    # @return [Object] its value
    # @raise [OptionError] when it is unknown or cannot be read
    def get(name)
      option = Options.fetch(name, :context)
      option.check_readable
      option.decode(_get_option(option.id))
    end

    # @param name [Symbol] of an option; most take effect only before the first socket is made
    # @param value [Object]
    # @return [Object] the value
    # @raise [OptionError] when it is unknown, cannot be set, or the value is not allowed
    def set(name, value)
      option = Options.fetch(name, :context)
      raw = option.encode(value)
      option.hand_over(value) { _set_option(option.id, raw) }
      value
    end

    # Ends every use of its sockets: waiting calls and all later ones raise
    # {ContextTerminatedError}. Does not wait, and may be called from any thread and from a signal
    # handler. The sockets still have to be closed; {#close} does.
    # @return [nil]
    def shutdown
      _shutdown
    end

    # Closes all its sockets, then waits until they have sent what they hold, at most their longest
    # linger and a second. Callers waiting on its sockets get {ClosedError}. The wait can be
    # interrupted; sending goes on in the background. A second call does nothing new.
    # @return [nil]
    def close
      _close
    end

    # @return [Boolean]
    def closed?
      _closed?
    end

    # @return [Boolean] whether sockets can be made: it is open, and of this very process
    def usable?
      !_closed? && _own?
    end

    # @return [Integer] address of libzmq's context, for other libraries that take one
    def pointer
      _pointer
    end

    # @private
    # @return [Boolean] whether this process was forked from the one that made the context
    def forked? = !_own?

    # @private
    # Sets another linger for the exit of the process; until then sockets linger for ever.
    def exit_linger=(milliseconds)
      _set_linger(-1, milliseconds)
    end

    # @return [String]
    def inspect
      state =
        if forked? then "of another process"
        elsif closed? then "closed"
        else "io_threads=#{io_threads} max_sockets=#{max_sockets}"
        end
      "#<#{self.class} #{state}>"
    end

    # dup and clone make no sense.
    # @private
    def initialize_copy(_original)
      raise Errors.build(
        UnsupportedError,
        :dup,
        nil,
        "a context cannot be copied: share this one, any thread may use it, or make " \
        "another with Context.new"
      )
    end
  end
end
