# frozen_string_literal: true

require "fcntl"

module ZMQ
  # A Socket or an IO, with the events that a Poller or a Loop waits for.
  class Pollitem
    PAGE = 4096
    OPEN_FOR = {Fcntl::O_RDONLY => POLLIN, Fcntl::O_WRONLY => POLLOUT}.freeze
    private_constant :PAGE, :OPEN_FOR

    # @return [Pollitem] the thing if it is a Pollitem, or a new Pollitem for a Socket or an IO
    def self.coerce(thing) = thing.is_a?(Pollitem) ? thing : new(thing)

    # @param events [Integer, nil] bits POLLIN and POLLOUT; nil: both
    def initialize(pollable, events = nil)
      events = Arguments.type(events.nil? ? POLLIN | POLLOUT : events, Integer)
      unless events.anybits?(POLLIN | POLLOUT)
        raise Error, "invalid socket event: Only ZMQ::POLLIN and ZMQ::POLLOUT events are supported!"
      end
      check(pollable)
      @pollable = pollable
      @events = events
      @handler = nil
    end

    attr_reader :pollable, :events, :handler

    def handler=(handler)
      missing = %i[on_error on_readable on_writable].find { |name| !handler.respond_to?(name) }
      if missing
        raise Error,
          "the handler #{handler.class} for #{@pollable.class} must respond to #{missing}"
      end
      @handler = handler
    end

    def verbose=(flag)
      @pollable.verbose = flag if @pollable.is_a?(Socket)
    end

    def send(*arguments)
      case @pollable
      when BasicSocket then @pollable.send(arguments.first, 0)
      when IO then @pollable.write_nonblock(*arguments)
      else @pollable.send(*arguments)
      end
    end

    def recv
      case @pollable
      when BasicSocket then @pollable.recv_nonblock(PAGE)
      when IO then @pollable.read_nonblock(PAGE)
      else @pollable.recv_nonblock
      end
    end

    def inspect = "#<#{self.class} #{@pollable.inspect} #{@events}>"

    # @private -- and so are the methods below
    # @return [Integer] the events that the socket's type or the IO's mode allows
    def possible
      return @open_for ||= events_of_io unless @pollable.is_a?(Socket)
      @events & ((@pollable.poll_readable? ? POLLIN : 0) | (@pollable.poll_writable? ? POLLOUT : 0))
    end

    # @return [Boolean] whether the Socket stores frames of a partly read message, for which libzmq
    #   need not report it as readable
    def rest? = @events.anybits?(POLLIN) && @pollable.is_a?(Socket) && @pollable.rest?
    def godwit = Pollitem.godwit(@pollable)
    def self.godwit(pollable) = pollable.is_a?(Socket) ? pollable.godwit : pollable

    def self.symbols(bits)
      [(:readable if bits.anybits?(POLLIN)), (:writable if bits.anybits?(POLLOUT))].compact
    end

    private

    # @return [Integer] the events that the IO's mode allows. If it allows none, all events:
    #   Godwit's poller then refuses the IO
    def events_of_io
      mode = @pollable.fcntl(Fcntl::F_GETFL) & Fcntl::O_ACCMODE
      open_for = @events & OPEN_FOR.fetch(mode, @events)
      open_for.zero? ? @events : open_for
    rescue SystemCallError, IOError, NotImplementedError
      @events
    end

    def check(pollable)
      return if pollable.is_a?(IO)
      unless pollable.is_a?(Socket)
        raise TypeError, "wrong pollable type #{pollable.class}. Only objects of type " \
          "ZMQ::Socket and IO supported."
      end
      pollable.alive!
      unless pollable.attached?
        raise Error, "socket in a pending state (not bound or connected) and thus cannot be " \
          "registered as a poll item!"
      end
      pollable.own_thread!
    end
  end

  # The base class of handlers. A Loop calls the handler of a Pollitem that is ready.
  class Handler
    attr_reader :pollitem

    def initialize(pollitem, *_args)
      unless pollitem.is_a?(Pollitem)
        raise TypeError, "#{pollitem.inspect} is not a valid ZMQ::Pollitem instance"
      end
      @pollitem = pollitem
    end

    def on_readable
      raise NotImplementedError, "ZMQ handlers are expected to implement an #on_readable contract"
    end

    def on_writable
      raise NotImplementedError, "ZMQ handlers are expected to implement an #on_writable contract"
    end

    def on_error(exception)
      raise exception
    end

    def send(*arguments) = pollitem.send(*arguments)
    def recv = pollitem.recv
  end

  # The default handler: prints each message, and sends empty messages.
  class DefaultHandler < Handler
    def on_readable
      p recv
    end

    def on_writable = send("")
  end
end
