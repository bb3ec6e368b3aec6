# frozen_string_literal: true

module ZMQ
  # A socket of one type. Context#socket makes it; only the thread that made it may use it.
  class Socket
    # If a uri does not match, the layer first looks it up in the DNS.
    PROTO_REXP = /^inproc|ipc|tcp|e?pgm:\/\//

    PENDING = 1
    BOUND = 2
    CONNECTED = 4
    DISCONNECTED = 8

    LINGER = 17
    private_constant :LINGER

    class << self
      # Makes these methods raise an Error in sockets of this class.
      def unsupported_api(*methods)
        methods.each do |name|
          define_method(name) do |*|
            raise Error, "API #{name} not supported for #{type_str} sockets!"
          end
        end
      end

      # Makes these methods raise an Error with this message instead of an EFSM of libzmq.
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

      # @private -- and so are the methods below
      def open(context, godwit)
        socket = allocate
        klass = CompatSocket::CLASSES.fetch(self::TYPE)
        socket._open(context, klass.new(context: godwit, count_peers: false, **klass::STARTS_WITH))
        Godwit::Compat::Rbczmq::SOCKETS.add(socket)
        socket.__send__(:initialize) # Ruby makes `initialize` private
        socket
      end

      # Sets the linger of all open sockets of a context.
      def linger_all(context, milliseconds)
        Godwit::Compat::Rbczmq::SOCKETS.to_a.each do |socket|
          socket._linger(context, milliseconds)
        end
      end
    end
    private_class_method :new

    def state
      alive!
      @state
    end

    # @return [Array<String>] the script's uris; the bound port replaces a wildcard port
    def endpoints
      alive!
      @endpoints
    end

    def endpoint = endpoints.first

    # @return [String] libzmq's name of the last endpoint, with its port
    def last_endpoint
      alive!
      @godwit.last_endpoint || ""
    end

    # @return [Integer] ZMQ_FD; -1 unless the socket is bound or connected
    def fd
      alive!
      attached? ? translated { @godwit.zmq_fd } : -1
    end
    alias_method :to_i, :fd
    def type = self.class::TYPE
    def type_str = self.class::TYPE_STR
    def poll_readable? = true
    def poll_writable? = true

    def to_s
      case state
      when BOUND then "#{type_str} socket bound to #{@endpoints.join(", ")}"
      when CONNECTED then "#{type_str} socket connected to #{@endpoints.join(", ")}"
      else "#{type_str} socket"
      end
    end

    def inspect = "#<#{self.class}#{" closed" if @closed}>"

    # Closes the socket. libzmq sends its messages in the background, for at most the context's
    # linger, or the socket's if the context has none.
    def close
      usable!
      _linger(@context, @context.lingering) if @context.lingering
      @closed = true
      @owner = @sender = nil
      @godwit.close
      nil
    end

    def verbose=(flag)
      alive!
      @verbose = (flag == true)
      choose_path
    end

    # @private -- and so are the methods below
    attr_reader :godwit
    # @return [Boolean] whether frames of a partly read message remain
    def rest? = !@rest.empty?

    def alive!
      raise Failures.destroyed(Socket, self) if @closed || @context.destroyed?
    end

    def own_thread!
      return if @thread.equal?(Thread.current)
      raise Error, "Cross thread violation for #{type_str} socket #{Failures.address(self)}: " \
        "created in thread #{Failures.address(@thread)}, invoked on thread " \
        "#{Failures.address(Thread.current)}"
    end

    def attached? = @state == BOUND || @state == CONNECTED

    def _open(context, godwit)
      @context = context
      @godwit = godwit
      @thread = Thread.current
      @state = PENDING
      @endpoints = [] # uris that {#endpoints} returns
      @resolved = [] # libzmq's name of each endpoint
      @given = [] # each endpoint as the script's call named it
      @closed = @verbose = false
      @owner = @sender = @held = nil
      @rest = []
    end

    def _linger(context, milliseconds)
      return unless @context.equal?(context) && !@closed
      @godwit._set_option(LINGER, milliseconds)
    rescue Godwit::Error
      nil # another thread has closed the socket
    end

    private

    # While @owner is set, recv uses the fast path of the owner thread without further checks; while
    # @sender is set, so does send.
    def choose_path
      @owner = (@thread if attached? && !@verbose && !@closed)
      @sender = @held ? nil : @owner
    end

    # @param action [String, nil] what only a bound or connected socket can do
    def usable!(action = nil)
      alive!
      raise Error, "can only #{action} on a bound or connected socket!" if action && !attached?
      own_thread!
      return unless @godwit._forked?
      raise Error, "#{type_str} socket belongs to another process: make one in this process"
    end

    def translated(&block) = Failures.translated(self, &block)

    def trace
      ZMQ.log("I: #{type_str} socket #{Failures.address(self)}: #{yield}") if @verbose
    end
  end

  # Types that only send.
  module UpstreamSocket
    def self.included(klass)
      klass.unsupported_api :recv, :recv_nonblock, :recv_frame, :recv_frame_nonblock, :recv_message
    end

    def poll_readable? = false
  end

  # Types that only receive.
  module DownstreamSocket
    def self.included(klass) = klass.unsupported_api(:send, :sendm, :send_frame, :send_message)
    def poll_writable? = false
  end
end

require_relative "socket/endpoints"
require_relative "socket/sending"
require_relative "socket/receiving"
require_relative "socket/options"
require_relative "socket/types"
