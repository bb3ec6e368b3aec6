# frozen_string_literal: true

module Plain
  # Assertions and actions that several scenarios need, on every backend.
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

    # @return [Array] the next `count` messages
    def take(socket, count) = Array.new(count) { socket.recv(timeout: 5) }

    # Asserts that one message arrives through connected sockets.
    def assert_flows(sender, receiver, message = "still here")
      sender.send(message, timeout: 5)
      assert_equal message, receiver.recv(timeout: 5)
    end

    # Publishes until the subscriber has a message. Then the subscriber receives all messages.
    def synchronize(pub, sub)
      eventually { pub.send("sync") && sub.wait_readable(0.01) }
      pub << "sync end"
      nil until sub.recv(timeout: 5) == "sync end"
    end

    # A ZAP handler (RFC 27) that answers one request.
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
