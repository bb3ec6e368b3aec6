# frozen_string_literal: true

module ZMQ
  # What Socket#monitor calls where it is given no handler: it does nothing. A handler of one's own
  # may be a subclass, or any object with some of these methods. Each gets the endpoint, and a
  # descriptor, an errno or milliseconds.
  class Monitor
    EVENTS = %i[
      connected connect_delayed connect_retried listening bind_failed accepted accept_failed closed
      close_failed disconnected
    ].freeze
    private_constant :EVENTS

    # @private
    # @return [Array<Symbol>] names of the events in a mask
    def self.names(mask)
      EVENTS.select.with_index { |_, bit| mask.anybits?(1 << bit) }
    end

    # @private
    # Hands events to a handler until the socket is closed. libzmq stops telling before the last of
    # all, that it listens no longer.
    # @param names [Array<Symbol>] of the events that are wanted
    def self.follow(feed, handler, names)
      listening = {}
      feed.each do |event|
        listening[event.endpoint] = event.value if event.name == :listening
        listening.delete(event.endpoint) if event.name == :closed
        call(handler, event.name, event.endpoint, event.value) if names.include?(event.name)
      end
      if names.include?(:closed) && feed.socket.closed?
        listening.each { |endpoint, descriptor| call(handler, :closed, endpoint, descriptor) }
      end
    end

    # @private
    # A handler need not have a method for each. One that raises is warned of, and gets the next
    # event too.
    def self.call(handler, event, endpoint, value)
      callback = :"on_#{event}"
      if handler.respond_to?(callback)
        handler.__send__(callback, endpoint, value.is_a?(Integer) ? value : 0)
      end
    rescue => error
      warn "#{callback} of a ZMQ monitor raised #{error.full_message(highlight: false)}"
    end

    # A connection stands.
    def on_connected(_endpoint, _descriptor)
    end

    # A connection is on its way.
    def on_connect_delayed(_endpoint, _errno)
    end

    # The next try comes after so many milliseconds.
    def on_connect_retried(_endpoint, _interval)
    end

    # It is bound.
    def on_listening(_endpoint, _descriptor)
    end

    # It could not be bound.
    def on_bind_failed(_endpoint, _errno)
    end

    # Somebody has connected.
    def on_accepted(_endpoint, _descriptor)
    end

    # Somebody could not be let in.
    def on_accept_failed(_endpoint, _errno)
    end

    # It listens no longer.
    def on_closed(_endpoint, _descriptor)
    end

    # A descriptor could not be closed.
    def on_close_failed(_endpoint, _errno)
    end

    # A connection has ended.
    def on_disconnected(_endpoint, _descriptor)
    end
  end
end
