# frozen_string_literal: true

module ZMQ
  # A Loop calls a Pollitem's handler. Subclasses say what to do.
  class Handler
    # @return [Pollitem]
    attr_reader :pollitem

    # @param _args [Array] for subclasses
    def initialize(pollitem, *_args)
      unless pollitem.is_a?(Pollitem)
        raise TypeError, "#{pollitem.inspect} is not a valid ZMQ::Pollitem instance"
      end
      @pollitem = pollitem
    end

    # Called when the socket or IO is readable.
    def on_readable
      raise NotImplementedError, "ZMQ handlers are expected to implement an #on_readable contract"
    end

    # Called when the socket or IO is writable.
    def on_writable
      raise NotImplementedError, "ZMQ handlers are expected to implement an #on_writable contract"
    end

    # Called with what another callback raised.
    def on_error(exception)
      raise exception
    end

    # Sends to the socket or IO.
    def send(*arguments) = pollitem.send(*arguments)

    # Receives from the socket or IO, without waiting.
    def recv = pollitem.recv
  end

  # The handler where none is given: prints each message, and sends empty ones.
  class DefaultHandler < Handler
    def on_readable
      p recv
    end

    def on_writable = send("")
  end
end
