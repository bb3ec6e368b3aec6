# frozen_string_literal: true

module Godwit
  module TestSupport
    # Each call that can wait, up to its wait: a socket, the object that is waited on (the socket,
    # or a poller or proxy over it), and a block that waits on that for ever.
    module WaitingCalls
      Call = Struct.new(:name, :socket, :waited_on, :block) do
        def run = block.call(waited_on)
      end

      # name => [how the socket is made, the call, how the awaited object is made of the socket when
      # it is another]
      ALL = {
        "recv" => [:empty, ->(socket) { socket.recv }],
        "recv with a timeout" => [:empty, ->(socket) { socket.recv(timeout: 60) }],
        "recv_multipart" => [:empty, ->(socket) { socket.recv_multipart }],
        "recv_string" => [:empty, ->(socket) { socket.recv_string }],
        "recv_many" => [:empty, ->(socket) { socket.recv_many(10) }],
        "recv_into" => [:empty, ->(socket) { socket.recv_into(+"") }],
        "recv_frame" => [:empty, ->(socket) { socket.recv_frame }],
        "recv_frames" => [:empty, ->(socket) { socket.recv_frames }],
        "recv_message" => [:empty, ->(socket) { socket.recv_message }],
        "wait_readable" => [:empty, ->(socket) { socket.wait_readable }],
        "each" => [:empty,
          ->(socket) { socket.each { |message| raise "no message was sent: #{message}" } }],
        "send" => [:full, ->(socket) { socket.send("x") }],
        "send of an Array" => [:full, ->(socket) { socket.send(%w[x y z]) }],
        "send of a Frame" => [:full, ->(socket) { socket.send(Godwit::Frame.new("x")) }],
        "send of a Message, tracked" => [:full,
          ->(socket) {
            socket.send(Godwit::Message.new("x",
              ("y" * 100_000).freeze), track: true)
          }],
        "send_frame" => [:full, ->(socket) { socket.send_frame("x", more: true).send_frame("y") }],
        "<<" => [:full, ->(socket) { socket << "x" }],
        "send with a timeout" => [:full, ->(socket) { socket.send("x", timeout: 60) }],
        "send_many" => [:full, ->(socket) { socket.send_many(%w[x y]) }],
        "wait_writable" => [:full, ->(socket) { socket.wait_writable }],
        "ROUTER send to a full peer" => [:full_router, ->(socket) { socket.send(%w[peer x]) }],
        "request" => [:req, ->(socket) { socket.request("x") }],
        "request to nobody" => [:lonely_req,
          ->(socket) { socket.request("x", timeout: 60, retries: 3) }],
        "serve" => [:rep, ->(socket) { socket.serve { |message| message } }],
        "PUB wait_connected" => [:pub, ->(socket) { socket.wait_connected }],
        "PULL wait_connected" => [:pull, ->(socket) { socket.wait_connected(count: 2) }],
        "next_event" => [:empty, ->(socket) { socket.monitor(:connected).next_event }],
        "next_event with a timeout" => [:empty,
          ->(socket) { socket.monitor(:connected).next_event(timeout: 60) }],
        "monitor with a block" => [:empty,
          ->(socket) { socket.monitor(:connected) { |event| raise "a peer connected: #{event}" } }],
        "SUB recv" => [:sub, ->(socket) { socket.recv }],
        "Poller wait" => [:empty, ->(poller) { poller.wait },
          POLLER = ->(socket) { Godwit::Poller.new(socket) }],
        "Poller wait with a timeout" => [:empty, ->(poller) { poller.wait(60) }, POLLER],
        "Poller wait for room" => [:full, ->(poller) { poller.wait },
          ->(socket) { Godwit::Poller.new.register(socket, :writable) }],
        "Proxy run" => [:empty, ->(proxy) { proxy.run },
          ->(socket) { Godwit::Proxy.new(socket, socket) }]
      }.freeze

      # One call for each kind of wait that has its own code.
      KINDS = ["recv", "send", "PULL wait_connected", "next_event", "Poller wait"].freeze

      # Calls that end by themselves when their socket closes, with the socket as their value.
      ENDS_WELL = ["each", "serve", "monitor with a block"].freeze

      # @yield makes a socket: type, options
      # @return [Call]
      def waiting_call(name, &open)
        kind, block, made = ALL.fetch(name)
        socket = __send__("waiting_#{kind}", open)
        Call.new(name, socket, made ? made.call(socket) : socket, block)
      end

      private

      def waiting_empty(open) = open.call(:DEALER).bind("tcp://127.0.0.1:*")

      def waiting_sub(open) = open.call(:SUB, subscribe: "").bind("tcp://127.0.0.1:*")

      # No peer: nothing can be sent.
      def waiting_full(open) = open.call(:PUSH).bind("tcp://127.0.0.1:*")

      def waiting_full_router(open)
        router =
          open.call(:ROUTER, mandatory: true, send_hwm: 1).bind(
            "tcp://127.0.0.1:*", "inproc://full-router-#{unique}"
          )
        peer = open.call(:DEALER, routing_id: "peer", recv_hwm: 1).connect(router.endpoints.last)
        peer.send("here")
        router.recv
        nil until router.send_nonblock(%w[peer x], exception: false) == :wait_writable
        router
      end

      def waiting_req(open)
        rep = open.call(:REP).bind("tcp://127.0.0.1:*") # takes the request, and is silent
        open.call(:REQ).connect(rep.last_endpoint)
      end

      def waiting_lonely_req(open) = open.call(:REQ).connect("tcp://127.0.0.1:1")

      def waiting_rep(open) = open.call(:REP).bind("tcp://127.0.0.1:*")

      def waiting_pub(open) = open.call(:PUB).bind("tcp://127.0.0.1:*")

      def waiting_pull(open) = open.call(:PULL).bind("tcp://127.0.0.1:*")

      def unique = rand(1 << 64).to_s(16)
    end
  end
end
