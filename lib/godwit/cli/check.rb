# frozen_string_literal: true

require_relative "sockets/types"

module Godwit
  module CLI
    # `godwit check ENDPOINT --type TYPE`: whether a peer is there, and if not, why.
    class Check < Family::Subcommand
      summary "Says whether a peer is there for a socket of a type, and if not, why."
      usage "check ENDPOINT --type TYPE [options]"
      notes <<~TEXT
        It connects, and prints one line: the peer is there (status #{EXIT[:ok]}), it refuses
        (#{EXIT[:failed]}), or it does not answer (#{EXIT[:timed_out]}).
      TEXT

      TIMEOUT = 5 # seconds that the peer may take to answer
      POLL_INTERVAL = 0.02 # seconds between two updates of the diagnosis
      # Seconds after the end of a handshake in which the peer's type may still arrive.
      TYPE_TIMEOUT = 0.5
      private_constant :TIMEOUT, :POLL_INTERVAL, :TYPE_TIMEOUT

      private

      def define(parser)
        choice_option(parser, "--type TYPE", Sockets::TYPES.keys,
          "the type of its socket: #{Sockets::TYPES.keys.join(", ")}")
        seconds_option(parser, "--timeout", "how long it waits for an answer (#{TIMEOUT})")
        define_keys(parser, clients: false)
      end

      def call(arguments)
        endpoint = foreign_endpoint(arguments)
        no_arguments(arguments.drop(1))
        raise UsageError, "check needs --type TYPE, such as --type req" unless options[:type]
        require "godwit"
        security = client_security(endpoint)
        Godwit.const_get(options[:type].upcase).new(linger: 0, **security) do |socket|
          diagnosis = Diagnosis.new(socket)
          start = Timeout.now
          socket.connect(endpoint)
          report(diagnosis, endpoint, start)
        ensure
          diagnosis.close
        end
      end

      def report(diagnosis, endpoint, start)
        time = options.fetch(:timeout, TIMEOUT)
        failed = found = nil
        loop do
          diagnosis.update
          if diagnosis.connected?
            return say(:ok, "a peer is there at #{endpoint}: a #{options[:type].upcase} " \
              "connected in #{((Timeout.now - start) * 1000).round} ms")
          end
          found = diagnosis.finding
          failed ||= Timeout.now if diagnosis.failed_link && found&.reason != :no_answer
          return say(:failed, found.text) if failed && found && settled?(found, failed)
          break if Timeout.now >= start + time
          sleep(POLL_INTERVAL)
        end
        say(:timed_out, found&.text || "no answer from #{endpoint} in #{time} s")
      end

      # A peer's type arrives a little later than the end of the handshake.
      def settled?(found, failed)
        !%i[types handshake].include?(found.reason) || Timeout.now - failed > TYPE_TIMEOUT
      end

      def say(status, text)
        io.puts Printable.text(text)
        EXIT[status]
      end
    end
  end
end
