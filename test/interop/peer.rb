# frozen_string_literal: true

require "json"

module Godwit
  module TestSupport
    # A pyzmq process (peer.py) and its sockets, steered from a test. Debian's Python alone has
    # python3-zmq.
    class Peer
      PYTHON = "/usr/bin/python3"
      DEADLINE = 300 # seconds for all uses in one class of tests
      PATIENCE = 5 # seconds for one message or event

      # @return [String, nil] why there can be none
      def self.missing
        return @missing if defined?(@missing)
        there = File.executable?(PYTHON) &&
          system(PYTHON, "-c", "import zmq", out: File::NULL, err: File::NULL)
        @missing =
          there ? nil : "pyzmq is not there: #{PYTHON} cannot import zmq (Debian: python3-zmq)"
      end

      # A socket of the Python side.
      class Remote
        def initialize(peer, number)
          @peer = peer
          @number = number
        end

        # @return [String] the endpoint, wildcards replaced
        def bind(endpoint) = ask(:bind, endpoint: endpoint)

        def connect(endpoint)
          ask(:connect, endpoint: endpoint)
          self
        end

        def send(*frames) = ask(:send, frames: frames.map { |frame| [frame].pack("m0") })

        # @param timeout [Numeric] seconds
        # @return [Array<String>, nil] frames
        def recv(timeout: PATIENCE)
          ask(:recv, timeout: (timeout * 1000).to_i)&.map { |frame| frame.unpack1("m0") }
        end

        def send_json(*before, value) = ask(:send_json, before: before, value: value)

        # @param before [Integer] frames before the value
        # @return [Array] those frames, then the value
        def recv_json(before: 0) = ask(:recv_json, before: before)

        def subscribe(topic) = ask(:set, name: :SUBSCRIBE, value: topic)

        # Receives a message.
        # @return [String, nil] the sender's user id from the authenticator
        def user_id = ask(:user_id)

        private

        def ask(what, **arguments) = @peer.ask(what, on: @number, **arguments)
      end

      def initialize(child)
        @child = child
        answer # it has begun
      end

      # @param type [Symbol] such as :REP
      # @param options [Hash] libzmq's names: `ROUTING_ID: "a"`
      # @return [Remote]
      def socket(type, **options) = Remote.new(self, ask(:open, type: type, options: options))

      # @return [Array<String>] public and secret key, Z85
      def keypair = ask(:keypair)

      def ask(what, **arguments)
        @child.stdin.puts(JSON.generate(do: what, **arguments))
        answer
      end

      def signal(name) = @child.signal(name)

      # @return [Children::Result] how it ended
      def finish = @child.finish

      private

      def answer
        @child.wait_for("\n")
        reply = JSON.parse(@child.stdout.slice!(/.*\n/))
        raise Minitest::Assertion, "pyzmq raised #{reply["error"]}" if reply["error"]
        reply["value"]
      end
    end
  end
end
