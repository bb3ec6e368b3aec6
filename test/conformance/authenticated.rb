# frozen_string_literal: true

module Conformance
  # Servers that an Auth of the test's context protects, their clients, and the Auth's decisions. A
  # test waits for a decision to know that the Auth has refused a client.
  module Authenticated
    ZAP = "inproc://zeromq.zap.01"
    PATIENCE = 20 # seconds that a wait may take

    def setup
      super
      @earlier = Thread.list
    end

    # @return [Array<Thread>] threads with this name that started during the test
    def threads_named(name) = (Thread.list - @earlier).select { |thread| thread.name == name }

    # @return [Godwit::Auth] the Auth of the test's context, which the end of the test closes
    def auth(**options)
      @auth ||= watched(own(Godwit::Auth.new(context: context, timeout: PATIENCE, **options)))
    end

    def watched(auth)
      queue = decisions
      auth.on_decision { |decision| queue << decision }
    end

    # @return [Thread::Queue] queue of each {Godwit::Auth::Decision} of the Auth
    def decisions = @decisions ||= Thread::Queue.new

    # @return [Godwit::Auth::Decision] the Auth's next decision
    def decision = ended(in_thread { decisions.pop }, "no decision came")

    # @return [Godwit::Auth::Decision] the Auth's next decision with this status
    def decision_of(status)
      loop do
        found = decision
        return found if found.status == status
      end
    end

    # @return [Godwit::REP] replies to each request with the user id of its sender
    def server(transport = :tcp, **options)
      rep = open_socket(:REP, **options).bind(endpoint_for(transport))
      in_thread { rep.serve(messages: true) { |message| message.user_id || "nobody" } }
      rep
    end

    # Connects a REQ that reconnects quickly.
    def client(server, **options)
      open_socket(:REQ, reconnect_interval: 0.01, **options).connect(server.last_endpoint)
    end

    # @return [String] the user id that the server sees for the client
    def who(client) = client.request("who am I?", timeout: PATIENCE)

    # Sends the Auth a request about a PLAIN client, as libzmq does. Does not wait for the reply.
    def ask(name, address: "127.0.0.1")
      (@asking ||= open_socket(:DEALER).connect(ZAP)).send(
        ["", "1.0", name, "", address, "", "PLAIN", name, "Swordfish"]
      )
    end

    # @return [Array(String, Integer)] request id and status of the Auth's next reply
    def reply
      _, _, id, status = @asking.recv_multipart(timeout: PATIENCE)
      [id, Integer(status)]
    end

    # Sends the Auth a request, as libzmq does, and waits for the reply.
    # @return [Array(Integer, String)] status and user id
    def zap(*credentials, mechanism: "NULL", domain: "", address: "127.0.0.1")
      @zap ||= open_socket(:DEALER).connect(ZAP)
      @zap.send(["", "1.0", "7", domain, address, "", mechanism, *credentials])
      delimiter, version, id, status, _, user_id, metadata =
        @zap.recv_multipart(timeout: PATIENCE)
      assert_equal ["", "1.0", "7", ""], [delimiter, version, id, metadata]
      [Integer(status), user_id.dup.force_encoding("UTF-8")]
    end

    def zap_plain(name, password, **options) = zap(name, password, mechanism: "PLAIN", **options)

    def zap_curve(pair, **options) = zap(pair.raw_public_key, mechanism: "CURVE", **options)

    # @return [String] the warnings during the block
    def warnings(&block) = capture_io(&block).last
  end
end
