# frozen_string_literal: true

module Plain
  # Short forms for the scenarios, on every backend.
  module Helpers
    # Asserts an error of exactly this class and with exactly this message.
    # @return [Exception]
    def refused(klass, message, &block)
      error = assert_raises(klass, &block)
      assert_instance_of klass, error
      assert_kind_of Godwit::Error, error
      assert_equal message, error.message
      error
    end

    # @return [Array] the next messages
    def take(socket, count) = Array.new(count) { socket.recv(timeout: 5) }

    # One message, through connected sockets.
    def assert_flows(sender, receiver, message = "still here")
      sender.send(message, timeout: 5)
      assert_equal message, receiver.recv(timeout: 5)
    end

    # A PUB (or XPUB) and a SUB whose subscriptions have arrived.
    def published(transport, *topics, publisher: :PUB)
      pub, sub = connected_pair(publisher, :SUB, transport: transport)
      sub.subscribe(*topics, "sync") # in this order, so that the last one shows that all are there
      synchronize(pub, sub)
      [pub, sub]
    end

    # Publishes until the subscriber receives, and drops what it has received.
    def synchronize(pub, sub)
      eventually { pub.send("sync") && sub.wait_readable(0.01) }
      pub << "sync end"
      nil until sub.recv(timeout: 5) == "sync end"
    end

    # An authenticator (RFC 27) that answers when it is asked to.
    # @return [String, nil] the user name of the request that it answered
    def answer_zap(zap, password, timeout)
      request = zap.recv(timeout: timeout, exception: false) or return
      version, id, _domain, _address, _routing_id, _mechanism, name, given = request
      known = given == password
      zap << [version, id, known ? "200" : "400", known ? "OK" : "no", known ? name : "", ""]
      name
    end
  end
end
