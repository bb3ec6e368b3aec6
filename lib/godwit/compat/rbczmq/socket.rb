# frozen_string_literal: true

module ZMQ
  # A socket of one type: Context#socket makes it, and only the thread that had it made may use it.
  class Socket
    # A uri that this matches is taken as it is; others are looked up in the DNS first.
    PROTO_REXP = /^inproc|ipc|tcp|e?pgm:\/\//

    PENDING = 1
    BOUND = 2
    CONNECTED = 4
    DISCONNECTED = 8

    Failures = Godwit::Compat::Rbczmq::Failures
    Arguments = Godwit::Compat::Rbczmq::Arguments
    Interrupts = Godwit::Compat::Rbczmq::Interrupts
    LINGER = 17
    private_constant :Failures, :Arguments, :Interrupts, :LINGER

    @known = ObjectSpace::WeakMap.new unless RUBY_ENGINE == "ruby"
    @known_lock = Mutex.new

    class << self
      # Has each of these methods raise, in a class of sockets.
      def unsupported_api(*methods)
        methods.each do |name|
          define_method(name) do |*|
            raise Error, "API #{name} not supported for #{type_str} sockets!"
          end
        end
      end

      # Has each of these methods say so in words when it comes out of turn.
      def handle_fsm_errors(message, *methods)
        methods.each do |name|
          define_method(name) do |*arguments|
            super(*arguments)
          rescue SystemCallError => error
            raise unless error.errno == EFSM
            raise Error, message
          end
        end
      end

      # @private
      # @return [Hash{Integer => Class}] by type
      def classes
        @classes ||=
          constants
            .map { |name| const_get(name) }
            .grep(Class)
            .to_h { |klass| [klass::TYPE, klass] }
            .freeze
      end

      # @private
      # Gives the linger to all that are open in a context.
      def linger_all(context, milliseconds)
        each_known { |socket| socket.__send__(:linger_in, context, milliseconds) }
      end

      # @private
      def know(socket)
        @known_lock.synchronize { @known[socket] = true } if @known
      end

      private

      def open(context, inner_class, inner_context)
        socket = allocate
        socket.__send__(
          :open, context,
          inner_class.new(context: inner_context, count_peers: false, **inner_class::STARTS_WITH)
        )
        Socket.know(socket)
        socket.__send__(:initialize)
        socket
      end

      # A WeakMap of Ruby 3.1 does not survive compaction.
      def each_known(&block)
        if @known
          @known_lock.synchronize { @known.keys }.each(&block)
        else
          ObjectSpace.each_object(Socket, &block)
        end
      end
    end
    private_class_method :new

    # @return [Integer] PENDING, BOUND, CONNECTED or DISCONNECTED
    def state
      alive!
      @state
    end

    # @return [Array<String>] where it is bound and connected, as it was told; with the port that a
    #   wildcard became
    def endpoints
      alive!
      @endpoints
    end

    # @return [String, nil]
    def endpoint = endpoints.first

    # @return [String] as libzmq calls the one that came last: with its port
    def last_endpoint
      alive!
      inner.last_endpoint || ""
    end

    # @return [Integer] ZeroMQ's descriptor, -1 where it is neither bound nor connected
    def fd
      alive!
      attached? ? option { inner.zmq_fd } : -1
    end
    alias_method :to_i, :fd

    # @return [Integer] such as ZMQ::REP
    def type = self.class::TYPE

    # @return [String] such as "REP"
    def type_str = self.class::TYPE_STR

    # @return [Boolean] whether a Loop waits for it to become readable
    def poll_readable? = true

    # @return [Boolean] whether a Loop waits for it to become writable
    def poll_writable? = true

    # @return [String] type and endpoints
    def to_s
      case state
      when BOUND then "#{type_str} socket bound to #{@endpoints.join(", ")}"
      when CONNECTED then "#{type_str} socket connected to #{@endpoints.join(", ")}"
      else "#{type_str} socket"
      end
    end

    # @return [String]
    def inspect = "#<#{self.class}#{" closed" if @closed}>"

    # Closes it. What it has not sent yet goes on for its linger, or for the context's, if one was
    # set there.
    # @return [nil]
    def close
      alive!
      own_thread!
      own_process!
      linger_in(@context, @context.lingering) if @context.lingering
      @closed = true
      @owner = @sender = nil
      @inner.close
      nil
    end

    # @param flag [Boolean] whether to print what it does
    def verbose=(flag)
      alive!
      @verbose = (flag == true)
      look
    end

    # @private
    attr_reader :inner

    # @private
    # @return [Boolean] whether the rest of a message waits in it
    def rest? = !@rest.empty?

    # @private
    def alive!
      raise destroyed if @closed || @context.__send__(:destroyed?)
    end

    # @private
    def own_thread!
      return if @thread.equal?(Thread.current)
      raise Error,
        "Cross thread violation for #{type_str} socket #{Failures.address(self)}: created in " \
        "thread " \
          "#{Failures.address(@thread)}, invoked on thread #{Failures.address(Thread.current)}"
    end

    # @private
    # @return [Boolean]
    def attached? = @state == BOUND || @state == CONNECTED

    private

    def open(context, inner)
      @context = context
      @inner = inner
      @thread = Thread.current
      @state = PENDING
      @endpoints = []
      @places = []
      @given = []
      @closed = @verbose = false
      @owner = @sender = @held = nil
      @rest = []
    end

    # Its thread, while send and recv need look at nothing else.
    def look
      @owner = (@thread if attached? && !@verbose && !@closed)
      @sender = @held ? nil : @owner
    end

    def destroyed
      Error.new(
        "ZMQ::Socket instance #{Failures.address(self)} has been destroyed by the ZMQ framework"
      )
    end

    def own_process!
      if @inner._forked?
        raise Error, "#{type_str} socket belongs to another process: make one in this process"
      end
    end

    def linger_in(context, milliseconds)
      return unless @context.equal?(context) && !@closed
      @inner._set_option(LINGER, milliseconds)
    rescue Godwit::Error
      nil # it was closed meanwhile
    end

    def option(&block) = Failures.translated(self, &block)

    def trace
      ZMQ.log("I: #{type_str} socket #{Failures.address(self)}: #{yield}") if @verbose
    end
  end

  # What only sends.
  module UpstreamSocket
    def self.included(klass)
      klass.unsupported_api :recv, :recv_nonblock, :recv_frame, :recv_frame_nonblock, :recv_message
    end

    # @return [Boolean] never
    def poll_readable? = false
  end

  # What only receives.
  module DownstreamSocket
    def self.included(klass)
      klass.unsupported_api :send, :sendm, :send_frame, :send_message
    end

    # @return [Boolean] never
    def poll_writable? = false
  end
end

require_relative "socket/endpoints"
require_relative "socket/sending"
require_relative "socket/receiving"
require_relative "socket/options"
require_relative "socket/monitoring"
require_relative "socket/types"
