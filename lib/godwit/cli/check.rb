# frozen_string_literal: true

require_relative "family"
require_relative "sockets/types"

module Godwit
  module CLI
    # `godwit check ENDPOINT --type TYPE`: whether a peer is there, and if not, why.
    class Check < Family::Part
      summary "Says whether a peer is there for a socket of a type, and if not, why."
      usage "check ENDPOINT --type TYPE [options]"
      notes <<~TEXT
        It connects, and prints one line: the peer is there (status #{EXIT[:ok]}), it refuses
        (#{EXIT[:failed]}), or it does not answer (#{EXIT[:timed_out]}).
      TEXT

      TIMEOUT = 5 # seconds
      LOOK = 0.02 # seconds
      # Seconds in which a peer that has ended the handshake may still tell its type.
      TELL = 0.5
      # Reasons that may pass within the time.
      PASSING = %i[no_answer].freeze
      private_constant :TIMEOUT, :LOOK, :TELL, :PASSING

      private

      def define(parser)
        choice_option(parser, "--type TYPE", Sockets::TYPES.keys,
          "the type of its socket: #{Sockets::TYPES.keys.join(", ")}")
        seconds_option(parser, "--timeout", "how long it waits for an answer (#{TIMEOUT})")
        define_keys(parser, clients: false)
      end

      def call(arguments)
        place = foreign_endpoint(arguments)
        no_arguments(arguments.drop(1))
        raise UsageError, "check needs --type TYPE, such as --type req" unless options[:type]
        require "godwit"
        security = Godwit::Endpoint.with_ipv6([place], client_security)
        Godwit.const_get(options[:type].upcase).new(linger: 0, **security) do |socket|
          diagnosis = Diagnosis.new(socket)
          start = Timeout.now
          socket.connect(place)
          answer(diagnosis, place, start)
        ensure
          diagnosis.close
        end
      end

      # @return [Integer] exit status
      def answer(diagnosis, place, start)
        time = options.fetch(:timeout, TIMEOUT)
        late = start + time
        failed = found = nil
        loop do
          diagnosis.update
          return say(:ok, there(place, start)) if diagnosis.connected?
          found = diagnosis.finding
          failed ||= Timeout.now if diagnosis.failed_link && !PASSING.include?(found&.reason)
          return say(:failed, found.text) if failed && found && settled?(found, failed)
          break if Timeout.now >= late
          sleep(LOOK)
        end
        say(:timed_out, found&.text || "no answer from #{place} in #{time} s")
      end

      # What a peer says of itself comes a little later than the end of the handshake.
      def settled?(found, failed)
        !%i[types handshake].include?(found.reason) || Timeout.now - failed > TELL
      end

      def there(place, start)
        "a peer is there at #{place}: a #{options[:type].upcase} connected in " \
          "#{((Timeout.now - start) * 1000).round} ms"
      end

      def say(status, text)
        io.puts Printable.text(text)
        EXIT[status]
      end
    end
  end
end
