# frozen_string_literal: true

module ZMQ
  # The only context of a process. It lives until it is destroyed.
  class Context
    @live = {}
    @lock = Mutex.new

    class << self
      # rbczmq does not pass the argument on to `initialize`, and subclasses rely on that.
      def new(io_threads = nil)
        Arguments.type(io_threads, Integer) unless io_threads.nil?
        context = Context.register(allocate, caller_locations(1, 1).first)
        begin
          context.__send__(:initialize) # Ruby makes `initialize` private
          context.iothreads = io_threads if io_threads
        rescue Exception # standard:disable Lint/RescueException -- passed on
          context.destroy unless context.destroyed?
          raise
        end
        context
      end

      def current = Context.live[Process.pid]
      # @private -- and so are the methods below
      attr_reader :live

      def register(context, caller)
        Interrupts.locked(@lock) do
          first = @live[Process.pid]
          if first
            raise Error, "single ZMQ context per process allowed: the first was made at " \
              "#{first.maker}"
          end
          context._open("#{caller&.path}:#{caller&.lineno}")
          @live = {Process.pid => context} # also drops the parent process's context
        end
        context
      end

      # Removes a context from @live, without a lock, since a trap block may destroy a context.
      def forget(context)
        @live = {} if @live[Process.pid].equal?(context)
      end
    end

    attr_reader :maker, :lingering

    # Sets the number of I/O threads. This has an effect only before the first socket is made.
    def iothreads=(count)
      alive!
      Arguments.type(count, Integer)
      raise Error, "negative I/O threads count is not supported." if count.negative?
      Failures.translated { @godwit.io_threads = count }
    end

    # @param milliseconds [Integer] linger that replaces each socket's own when the socket closes
    def linger=(milliseconds)
      alive!
      Arguments.type(milliseconds, Integer)
      raise Error, "negative linger / timeout values is not supported." if milliseconds.negative?
      Failures.translated { @godwit.linger = milliseconds / 1000.0 }
      @lingering = milliseconds
    end

    def socket(type)
      alive!
      Arguments.type(type, Integer, Symbol)
      number = type.is_a?(Symbol) ? ZMQ.const_get(type) : type
      klass = Socket::CLASSES[number] or raise Error, "ZMQ socket type #{number} not supported!"
      Failures.translated { klass.open(self, @godwit) }
    end

    def bind(type, endpoint) = attached(type) { |socket| socket.bind(endpoint) }
    def connect(type, endpoint) = attached(type) { |socket| socket.connect(endpoint) }

    # Closes all sockets, also those of other threads, and waits for unsent messages, at most for
    # the sockets' linger.
    def destroy
      alive!
      @destroyed = true
      Context.forget(self)
      Socket.linger_all(self, @lingering) if @lingering
      @godwit.close
      nil
    end

    def inspect = "#<#{self.class}#{" destroyed" if @destroyed}>"
    # @private -- and so are the methods below
    def destroyed? = @destroyed

    def alive!
      raise Failures.destroyed(Context, self) if @destroyed
      return if Process.pid == @pid
      raise Error, "ZMQ::Context instance #{Failures.address(self)} belongs to another process: " \
        "make one in this process"
    end

    # @return [Boolean] whether no other socket's monitor has this endpoint
    def reserve_monitor(endpoint, owner)
      Interrupts.locked(@lock) { (@monitors[endpoint] ||= owner) == owner }
    end

    def release_monitor(endpoint, owner)
      @lock.synchronize { @monitors.delete(endpoint) if @monitors[endpoint] == owner }
    end

    def _open(maker)
      @maker = maker # file and line of the script's call that made this context
      @pid = Process.pid
      @destroyed = false
      @lingering = nil
      @monitors = {}
      @lock = Mutex.new
      @godwit = Godwit::Context.new
    end

    private

    def attached(type)
      socket = socket(type)
      yield socket
      socket
    rescue
      socket&.close
      raise
    end
  end
end
