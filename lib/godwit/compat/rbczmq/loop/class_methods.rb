# frozen_string_literal: true

module ZMQ
  class Loop
    @runners = []
    @lock = Mutex.new

    class << self
      # Makes a loop, calls the block, which registers sockets, IOs and timers, and starts the loop.
      def run(callable = nil, &block)
        @instance = new
        (callable || block).call
        @instance.start
      end

      # Binds the socket, and registers a handler of this class for it.
      def bind(socket, address, handler = DefaultHandler, *args)
        attach(socket, :bind, address, handler, args)
      end

      # Connects the socket, and registers a handler of this class for it.
      def connect(socket, address, handler = DefaultHandler, *args)
        attach(socket, :connect, address, handler, args)
      end

      def register_readable(pollable, handler = DefaultHandler, *args)
        register_for(POLLIN, pollable, handler, args)
      end

      # Registers a handler as {register_readable} does, but for writing.
      def register_writable(pollable, handler = DefaultHandler, *args)
        register_for(POLLOUT, pollable, handler, args)
      end

      def add_oneshot_timer(delay, callback = nil, &block) = add_timer(delay, 1, callback, &block)
      def add_periodic_timer(delay, callback = nil, &block) = add_timer(delay, 0, callback, &block)

      def add_timer(delay, times, callback = nil, &block)
        timer = Timer.new(delay, times, callback, &block)
        instance.register_timer(timer)
        timer
      end

      def context = ZMQ.context

      # @private -- and so are the methods below
      # Keeps the list of running loops for {ZMQ.interrupted!}.
      def runs(loop)
        @lock.synchronize { @runners += [loop] }
        yield
      ensure
        @lock.synchronize { @runners -= [loop] }
      end

      def interrupt_all = @runners.each(&:interrupt)

      %i[stop running? verbose= register remove register_timer cancel_timer].each do |name|
        define_method(name) { |*arguments| instance.public_send(name, *arguments) }
      end

      private

      def instance
        @instance or raise Error, "no loop was run yet: this is for the block of ZMQ::Loop.run"
      end

      # Handlers get the arguments as one Array here; scripts rely on that.
      def attach(socket, action, address, handler, args)
        result = socket.public_send(action, address)
        register_readable(socket, handler, args) if socket.poll_readable?
        register_writable(socket, handler, args) if socket.poll_writable?
        result
      end

      def register_for(events, pollable, handler, args)
        item = Pollitem.new(pollable, events)
        item.handler = handler.new(item, *args) if handler
        instance.register(item)
      end
    end
  end
end
