# frozen_string_literal: true

module ZMQ
  # What a Loop calls for a Pollitem: subclasses say what to do.
  class Handler
    # @return [Pollitem]
    attr_reader :pollitem

    # @param pollitem [Pollitem]
    # @param args [Array] for subclasses
    def initialize(pollitem, *args)
      unless pollitem.is_a?(Pollitem)
        raise TypeError, "#{pollitem.inspect} is not a valid ZMQ::Pollitem instance"
      end
      @pollitem = pollitem
    end

    # It can be read from.
    def on_readable
      raise NotImplementedError, "ZMQ handlers are expected to implement an #on_readable contract"
    end

    # It can be written to.
    def on_writable
      raise NotImplementedError, "ZMQ handlers are expected to implement an #on_writable contract"
    end

    # Something was raised.
    def on_error(exception)
      raise exception
    end

    # Sends to the socket or IO.
    def send(*arguments) = pollitem.send(*arguments)

    # Receives from the socket or IO, without waiting.
    def recv = pollitem.recv
  end
end
