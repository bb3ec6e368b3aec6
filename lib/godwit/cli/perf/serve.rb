# frozen_string_literal: true

require_relative "../signals"

module Godwit
  module CLI
    class Perf
      # `godwit perf serve`: the server of a measurement.
      class Serve < Subcommand
        summary "The other side of lat, thr, load and matrix."
        usage "perf serve ENDPOINT [options]"
        notes <<~TEXT
          An empty host is 127.0.0.1. Any other host than this machine's loopback needs
          --keys FILE with --clients DIR, or --insecure. Ctrl-C and SIGTERM end it.
        TEXT

        # Endpoints that other machines cannot reach.
        LOOPBACK = %r{\Atcp://(?:127(?:\.\d+){3}|localhost|\[::1\]):|\A(?:ipc|inproc)://}
        private_constant :LOOPBACK

        private

        def define(parser)
          define_keys(parser, server: true)
          parser.on("--insecure", "lets everybody measure who reaches the endpoint")
          parser.on("--agent", "does what `godwit perf matrix` of these clients asks for")
        end

        def call(arguments)
          endpoint = only_endpoint(arguments)
          check_access(endpoint)
          require "godwit/perf"
          serve(Godwit::Perf::Server.new(endpoint, **server_security, **agent))
        end

        # The caller calls server_security first, which makes the Auth of `keys`.
        def agent = options[:agent] ? {agent: true, authenticator: keys.auth} : {}

        def check_access(endpoint)
          return if endpoint.match?(LOOPBACK) || options[:insecure]
          return if options[:keys] && options[:clients]
          raise UsageError, "#{endpoint} is open to the network: give --keys FILE with " \
            "--clients DIR, or --insecure"
        end

        def serve(server)
          Signals.queued("INT", "TERM") do |signals|
            ending = Thread.new { signals.pop.tap { server.close } }
            io.puts "serves at #{server.last_endpoint}"
            io.flush
            server.run
            Signals.status(ending.value)
          end
        ensure
          server.close
        end
      end
    end
  end
end
