# frozen_string_literal: true

module Godwit
  class Proxy
    # The three proxies of the Guide. Each makes sockets and binds them to the given endpoints;
    # {Proxy#close} closes them. Either side may be the caller's socket instead, which stays open.
    #
    # With a block each method starts the proxy, yields it, closes it afterwards, and returns the
    # block's value. Without a block the proxy does not run yet.
    module Patterns
      # Makes a proxy from a ROUTER, for clients (REQ, DEALER), to a DEALER, for workers (REP,
      # ROUTER). The workers share the requests, and each reply goes to its client.
      # @param frontend [String, Array<String>, Socket] endpoints to bind, or a socket
      # @param backend [String, Array<String>, Socket]
      # @param capture [String, Array<String>, Socket, nil] gets the copies; endpoints are for a PUB
      # @param context [Context, nil] of the sockets that are made; nil: the process's default
      # @param options [Hash] of the sockets made for the two sides, such as `send_hwm: 10`
      # @yieldparam proxy [Proxy]
      # @return [Proxy] or the block's value
      # @raise [Error] as {Socket.bind} and {Proxy#initialize}; then nothing stays open
      def queue(frontend, backend, capture: nil, context: nil, **options, &block)
        build([ROUTER, frontend], [DEALER, backend], capture, context, options, &block)
      end

      # Makes a proxy from an XSUB, for publishers, to an XPUB, for subscribers.
      # @param (see #queue)
      # @yieldparam proxy [Proxy]
      # @return [Proxy] or the block's value
      # @raise [Error] as {#queue}
      def forwarder(frontend, backend, capture: nil, context: nil, **options, &block)
        build([XSUB, frontend], [XPUB, backend], capture, context, options, &block)
      end

      # Makes a proxy from a PULL, where PUSH peers send, to a PUSH, where PULL peers receive.
      # @param (see #queue)
      # @yieldparam proxy [Proxy]
      # @return [Proxy] or the block's value
      # @raise [Error] as {#queue}
      def streamer(frontend, backend, capture: nil, context: nil, **options, &block)
        build([PULL, frontend], [PUSH, backend], capture, context, options, &block)
      end

      private

      def build(frontend, backend, capture, context, options, &block)
        owned = []
        begin
          sides =
            [frontend, backend].map { |type, where| side(type, where, context, options, owned) }
          capture &&= side(PUB, capture, context, {}, owned)
          proxy = new(*sides, capture: capture).own(owned)
        rescue
          owned.each(&:close)
          raise
        end
        block ? AutoClose.with(proxy) { block.call(proxy.start) } : proxy
      end

      def side(type, where, context, options, owned)
        return where if where.is_a?(Socket)
        type.bind(*where, context: context, **options).tap { |socket| owned << socket }
      end
    end
  end
end
