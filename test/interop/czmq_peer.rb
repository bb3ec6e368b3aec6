# frozen_string_literal: true

require "fileutils"
require_relative "peer"

module Godwit
  module TestSupport
    # A CZMQ process (czmq_peer.c, built into tmp/) and its sockets, steered from a test as {Peer}
    # is.
    class CzmqPeer
      PROGRAMS = File.expand_path("../../tmp/interop", __dir__)
      LIBRARIES = %w[libczmq libzmq].freeze

      # @return [String, nil] why there can be none
      def self.missing
        return @missing if defined?(@missing)
        there = system("pkg-config", "--exists", *LIBRARIES, out: File::NULL, err: File::NULL)
        @missing =
          there ? nil : "CZMQ is not there: pkg-config knows no libczmq (Debian: libczmq-dev)"
      end

      # Builds the program in each test process, under another name first: of two simultaneous runs
      # none must start an incomplete file.
      # @param name [String] of its source here, without .c
      # @return [String] its path
      # @param libraries [Array<String>] that pkg-config knows
      def self.program(name = "czmq_peer", libraries: LIBRARIES)
        (@programs ||= {})[name] ||= begin
          FileUtils.mkdir_p(PROGRAMS)
          flags = IO.popen(["pkg-config", "--cflags", "--libs", *libraries], &:read).split
          path = File.join(PROGRAMS, name)
          fresh = "#{path}.#{Process.pid}"
          system(
            "cc", "-O1", "-Wall", "-Wextra", "-Werror", "-o", fresh,
            File.expand_path("#{name}.c", __dir__), *flags, exception: true
          )
          File.rename(fresh, path)
          path
        end
      end

      # A socket of CZMQ's side.
      class Remote
        def initialize(peer, number)
          @peer = peer
          @number = number
        end

        # @return [String] the endpoint, wildcards replaced
        def bind(endpoint) = @peer.ask("bind", @number, endpoint).first

        def connect(endpoint)
          @peer.ask("connect", @number, endpoint)
          self
        end

        # As one zmsg.
        def send(*frames) = @peer.ask("send", @number, *frames.map { |frame| CzmqPeer.hex(frame) })

        # Receives one zmsg.
        # @param timeout [Numeric] seconds
        # @return [Array<String>, nil] frames
        def recv(timeout: Peer::PATIENCE) = @peer.frames("recv", @number, (timeout * 1000).to_i)

        def set(option, value = nil)
          @peer.ask("set", @number, option, *value)
          self
        end

        def subscribe(topic) = set("subscribe", topic)
      end

      def self.hex(bytes) = bytes.empty? ? "-" : bytes.unpack1("H*")

      def self.bytes(hex) = (hex == "-") ? "".b : [hex].pack("H*")

      # @param child [Children::Child] of {program}
      def initialize(child)
        @child = child
        @answers = 0
        @version = answer.first
      end

      # @return [String] of CZMQ's headers
      attr_reader :version

      # @param type [Symbol] such as :REP
      # @param options [Hash] CZMQ's names; true for switches
      # @return [Remote]
      def socket(type, **options)
        remote = Remote.new(self, ask("open", type).first)
        options.each { |name, value| remote.set(name, (value unless value == true)) }
        remote
      end

      # @return [Array<String>] public and secret key, Z85
      def keypair = ask("keypair")

      # Starts CZMQ's authenticator: "PLAIN" and a file of passwords, "CURVE" and a folder of
      # certificates, or *.
      def authenticate(mechanism, what) = ask("auth", mechanism, what)

      # @return [String] zmsg_encode of these frames
      def encode(*frames)
        CzmqPeer.bytes(ask("encode", *frames.map { |frame| CzmqPeer.hex(frame) }).first)
      end

      # @return [Array<String>, nil] frames of zmsg_decode
      def decode(data) = frames("decode", CzmqPeer.hex(data))

      def frames(*command)
        words = ask(*command)
        words.map { |word| CzmqPeer.bytes(word) } unless words == ["none"]
      end

      def ask(*command)
        @child.stdin.puts(command.join(" "))
        answer
      end

      # @return [Children::Result] how it ended
      def finish = @child.finish

      private

      def answer
        @child.wait_for(/\A(?:.*\n){#{@answers + 1}}/)
        line = @child.stdout.lines[@answers]
        @answers += 1
        verdict, *words = line.split
        raise Minitest::Assertion, "CZMQ says #{words.join(" ")}" unless verdict == "ok"
        words
      end
    end
  end
end
