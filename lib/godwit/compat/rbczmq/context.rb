# frozen_string_literal: true

module ZMQ
  # One for each process. It stays until it is destroyed.
  class Context
    Failures = Godwit::Compat::Rbczmq::Failures
    Arguments = Godwit::Compat::Rbczmq::Arguments
    private_constant :Failures, :Arguments

    @live = {}
    @lock = Mutex.new

    class << self
      # rbczmq never hands the argument on to initialize; subclasses count on that.
      def new(io_threads = nil)
        Arguments.type(io_threads, Integer) unless io_threads.nil?
        context = Context.register(allocate, caller_locations(1, 1).first)
        begin
          context.__send__(:initialize)
          context.iothreads = io_threads if io_threads
        rescue Exception # standard:disable Lint/RescueException -- passed on
          context.destroy unless context.__send__(:destroyed?)
          raise
        end
        context
      end

      # @return [Context, nil] this process's
      def current
        Context.live[Process.pid]
      end

      # @private
      attr_reader :live

      # @private
      def register(context, place)
        Godwit::Compat::Rbczmq::Interrupts.locked(@lock) do
          first = @live[Process.pid]
          if first
            raise Error,
              "single ZMQ context per process allowed: the first was made at #{first.place}"
          end
          context.__send__(:open, "#{place&.path}:#{place&.lineno}")
          @live = {Process.pid => context} # those of other processes are of no use here
        end
        context
      end

      # @private
      # With no lock, for a trap handler may destroy a context; none takes the place of one that is
      # there.
      def forget(context)
        @live = {} if @live[Process.pid].equal?(context)
      end
    end

    # @private
    attr_reader :place, :lingering

    # Takes effect before the first socket is made.
    def iothreads=(count)
      alive!
      Arguments.type(count, Integer)
      raise Error, "negative I/O threads count is not supported." if count.negative?
      Failures.translated { @inner.io_threads = count }
    end

    # @param milliseconds [Integer] for all sockets, whatever was set on one: as it is closed it
    #   gets this
    def linger=(milliseconds)
      alive!
      Arguments.type(milliseconds, Integer)
      raise Error, "negative linger / timeout values is not supported." if milliseconds.negative?
      Failures.translated { @inner.linger = milliseconds / 1000.0 }
      @lingering = milliseconds
    end

    # @param type [Symbol, Integer] such as :REP or ZMQ::REP
    # @return [Socket]
    def socket(type)
      alive!
      number = number_of(type)
      klass = Socket.classes[number] or raise Error, "ZMQ socket type #{number} not supported!"
      Failures.translated do
        klass.__send__(
          :open, self, Godwit::Compat::Rbczmq::CompatSocket::CLASSES.fetch(number), @inner
        )
      end
    end

    # @return [Socket] bound there
    def bind(type, endpoint)
      attached(type) { |socket| socket.bind(endpoint) }
    end

    # @return [Socket] connected there
    def connect(type, endpoint)
      attached(type) { |socket| socket.connect(endpoint) }
    end

    # Closes every socket, those of other threads too, and waits until they have sent what their
    # linger allows.
    # @return [nil]
    def destroy
      alive!
      @destroyed = true
      Context.forget(self)
      Socket.linger_all(self, @lingering) if @lingering
      @inner.close
      nil
    end

    def inspect
      "#<#{self.class}#{" destroyed" if @destroyed}>"
    end

    # @private
    def alive!
      if @destroyed
        raise Error,
          "ZMQ::Context instance #{Failures.address(self)} has been destroyed by the ZMQ " \
          "framework"
      end
      unless Process.pid == @pid
        raise Error,
          "ZMQ::Context instance #{Failures.address(self)} belongs to another process: make " \
          "one in this process"
      end
    end

    # @private
    # @return [Boolean] whether the name of a monitor was free
    def acquire(endpoint, owner)
      Godwit::Compat::Rbczmq::Interrupts.locked(@lock) { (@monitors[endpoint] ||= owner) == owner }
    end

    # @private
    def release(endpoint, owner)
      @lock.synchronize { @monitors.delete(endpoint) if @monitors[endpoint] == owner }
    end

    private

    def open(place)
      @place = place
      @pid = Process.pid
      @destroyed = false
      @lingering = nil
      @monitors = {}
      @lock = Mutex.new
      @inner = Godwit::Context.new
    end

    def destroyed? = @destroyed

    def number_of(type)
      Arguments.type(type, Integer, Symbol)
      type.is_a?(Symbol) ? ZMQ.const_get(type) : type
    end

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
