# frozen_string_literal: true

module Godwit
  module TestSupport
    # Each public call that can wait. A Call has the object whose close ends the wait, the receiver
    # (that object, or a poller, proxy or loop over it), and a block that waits for ever.
    module WaitingCalls
      Call = Struct.new(:name, :object, :receiver, :block, :inner) do
        def run = block.call(receiver)

        # @return [Object] an argument of {Waiters#until_waiting}
        def waited_on = inner ? -> { inner.call(object) } : receiver

        # @return [Boolean] whether the call does not raise ClosedError when the object closes
        def own_error? = OWN_ERRORS.key?(name)

        # @return [Class, nil] what the call raises instead of ClosedError; nil: the call returns
        def error = OWN_ERRORS.fetch(name)

        # Whether the receiver itself can be closed, which ends the call.
        def receiver? = name.match?(/Poller|Loop/)

        # Whether the object has a context.
        def context? = !name.start_with?("Stream", "Beacon", "Runner")

        # Whether several threads can make the call on one object at the same time.
        def shared? = !name.match?(/request|serve|Proxy|Loop|Reader|Stream|Runner/)
      end

      # Bound sockets without a peer. A send on the PUSH waits.
      BOUND = {
        empty: [:DEALER], full: [:PUSH], sub: [:SUB, {subscribe: ""}], rep: [:REP], pub: [:PUB],
        pull: [:PULL]
      }.freeze
      SOCKET_OF_READER = ->(reader) { reader.instance_variable_get(:@socket) }
      # The result is nil until the command runs.
      POLLER_OF_STREAM = lambda do |stream|
        stream.instance_variable_get(:@jobs).last&.instance_variable_get(:@poller)
      end

      # name => [how to make the object, the call, how to make the receiver from the object if they
      # differ, the internal object that the call waits on]
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
        "send of a Message, tracked" => [:full, ->(socket) {
          socket.send(Godwit::Message.new("x", ("y" * 100_000).freeze), track: true)
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
          ->(socket) { Godwit::Proxy.new(socket, socket) }],
        "Loop run" => [:empty, ->(loop) { loop.run },
          ->(socket) { Godwit::Loop.new.tap { |loop| loop.readable(socket) { raise "called" } } }],
        "Reader recv" => [:reader, ->(reader) { reader.recv }, nil, SOCKET_OF_READER],
        "Reader each" => [:reader, ->(reader) { reader.each { |record| raise record.to_s } }, nil,
          SOCKET_OF_READER],
        "Stream each" => [:stream, ->(stream) { stream.each { |row| raise row } }, nil,
          POLLER_OF_STREAM],
        "Stream next" => [:stream, ->(stream) { stream.next }, nil, POLLER_OF_STREAM],
        "Stream lazy" => [:stream, ->(stream) { stream.lazy.map(&:size).first(3) }, nil,
          POLLER_OF_STREAM]
      }.freeze

      # One call for each kind of wait that has its own code.
      KINDS = [
        "recv", "send", "PULL wait_connected", "next_event", "Poller wait", "Proxy run", "Loop run",
        "Reader recv", "Stream each", "Stream next"
      ].freeze

      # Calls that raise no ClosedError when their object closes => the class they raise, or nil.
      OWN_ERRORS = {
        "each" => nil, "serve" => nil, "monitor with a block" => nil, "Reader each" => nil,
        "Stream each" => nil, "Stream next" => StopIteration, "Stream lazy" => nil,
        "Beacon each" => nil
      }.freeze

      # @yield [type, options] makes a socket
      # @return [Call]
      def waiting_call(name, &open)
        kind, block, made, inner = ALL.fetch(name)
        object = BOUND.key?(kind) ? bound(open, *BOUND[kind]) : __send__("waiting_#{kind}", open)
        Call.new(name, object, made ? made.call(object) : object, block, inner)
      end

      # For a test case: a call in a new context, @home. The end of the test closes the objects.
      # @return [Call]
      def prepare(name)
        @home = own(Godwit::Context.new(linger: 0))
        call = waiting_call(name) do |type, **more|
          own(Godwit.const_get(type).new(context: @home, **more))
        end
        owned = [Godwit::Poller, Godwit::Loop, Godwit::Logger::Reader]
        [call.object, call.receiver].each { |one| own(one) if owned.include?(one.class) }
        call
      end

      # For the program of a child: yields each call, in a context that is closed afterwards. When
      # the block aborts, the message names the call.
      def each_waiting_call(names = ALL.keys)
        names.each do |name|
          context = Godwit::Context.new(linger: 0)
          made = [] # also retains the peers, which Java's collector would close
          yield(waiting_call(name) do |type, **options|
            Godwit.const_get(type).new(context: context, **options).tap { |one| made << one }
          end)
          context.close
          made.clear
        rescue SystemExit => error
          abort "#{name}: #{error.message}"
        end
      end

      private

      def waiting_reader(open)
        Godwit::Logger::Reader.new("tcp://127.0.0.1:*", context: open.call(:DEALER).context)
      end

      def waiting_stream(_) = Godwit::Shell.rows("sleep", "1000")

      def waiting_full_router(open)
        router = open.call(:ROUTER, mandatory: true, send_hwm: 1)
          .bind("tcp://127.0.0.1:*", "inproc://full-router-#{rand(1 << 64)}")
        peer = open.call(:DEALER, routing_id: "peer", recv_hwm: 1).connect(router.endpoints.last)
        peer.send("here")
        router.recv
        nil until router.send_nonblock(%w[peer x], exception: false) == :wait_writable
        router
      end

      def waiting_req(open)
        rep = bound(open, :REP) # receives the request, and sends no reply
        open.call(:REQ).connect(rep.last_endpoint)
      end

      def waiting_lonely_req(open) = open.call(:REQ).connect("tcp://127.0.0.1:1")

      def bound(open, type, options = {})
        open.call(type, **options).bind("tcp://127.0.0.1:*")
      end
    end
  end
end
