# frozen_string_literal: true

require "json"
require "securerandom"

module Godwit
  module Perf
    # The server of a measurement: its REP echoes each message, and its PULLs receive what
    # {Perf.throughput} sends. With `agent: true` it measures the links to other agents for
    # {Perf.matrix}.
    #
    #   server = Godwit::Perf::Server.new("tcp://127.0.0.1:*")
    #   Thread.new { server.run }
    #   Godwit::Perf.latency(server.last_endpoint, count: 10_000)
    #   server.close
    #
    # **Threads**: one thread runs the server; any other may close it.
    class Server
      # The first frame of a command; the second is a JSON object.
      COMMAND = "\0godwit-perf".b.freeze
      MAX_RECEIVERS = 16 # throughput measurements that may run at a time
      # Most replies queued for a client. A REP drops further replies: `load` counts time-outs then.
      SEND_HWM = 100_000
      private_constant :COMMAND, :MAX_RECEIVERS, :SEND_HWM

      # @private
      # @return [Array<String>] the frames of a command or of an answer
      def self.command(values) = [COMMAND, JSON.generate(values)]

      # @private
      # @return [Hash, nil] the values of a command or an answer; nil: the message is neither
      def self.values(message)
        return unless message.is_a?(Array) && message.size == 2 && message[0].b == COMMAND
        return unless message[1].dup.force_encoding(Encoding::UTF_8).valid_encoding?
        values = JSON.parse(message[1])
        values if values.is_a?(Hash)
      rescue JSON::ParserError, EncodingError
        nil
      end

      # Binds the endpoint.
      # @param endpoint [String] such as "tcp://127.0.0.1:*"
      # @param agent [Boolean] whether clients may let this server measure links to other agents
      # @param authenticator [Auth, nil] the Auth of the context, for an agent with `auth:`
      # @param options [Hash] socket options, as {Socket#initialize} (`curve:`, `auth:`…)
      # @raise [ArgumentValueError] for an agent with `auth:` but without `authenticator:`
      # @raise [Error] as {Socket.bind}
      def initialize(endpoint, agent: false, authenticator: nil, **options)
        if agent && options[:auth] && !authenticator
          raise Errors.bad_value(:bind, "authenticator:", "the Godwit::Auth of auth:", nil)
        end
        @options = options = Endpoint.with_ipv6([endpoint], options)
        @rep = REP.bind(endpoint, send_hwm: SEND_HWM, **options)
        @receivers = {}
        @agent = Agent.new(beside(last_endpoint), options, authenticator) if agent
      end

      # @return [String] the endpoint, with wildcards replaced
      def last_endpoint = @rep.last_endpoint

      # Serves until {#close}.
      # @return [nil]
      def run
        loop do
          message = @rep.recv(timeout: @agent&.remaining_time, exception: false)
          next @agent.expire unless message
          values = Server.values(message) if message.is_a?(Array)
          @rep.send(values ? Server.command(answer(values)) : message)
        end
      rescue ClosedError, ContextTerminatedError
        nil
      ensure
        close
      end

      # Ends {#run} and closes all sockets.
      # @return [nil]
      def close
        @rep.close
        @receivers.each_value(&:close)
        @agent&.close
        nil
      end

      # @return [Boolean]
      def closed? = @rep.closed?
      # @return [String]
      def inspect = "#<#{self.class} #{closed? ? "(closed)" : last_endpoint}>"
      alias_method :to_s, :inspect

      private

      def answer(values)
        case values["do"]
        when "receive" then receive(values["size"])
        when "result" then result(values["id"])
        when *Agent::COMMANDS.keys then agent(values)
        else {"error" => "this server does not know the command #{values["do"].inspect}"}
        end
      rescue Error => error
        {"error" => error.message}
      end

      def agent(values)
        return @agent.answer(values) if @agent
        {"error" => "this server measures nothing: start it with --agent"}
      end

      def receive(size)
        Perf.check_size(:receive, size)
        @receivers.delete_if { |_, receiver| receiver.ended? }
        return {"error" => "this server is busy"} if @receivers.size >= MAX_RECEIVERS
        receiver = Receiver.new(beside(last_endpoint), size, @options)
        id = receiver.object_id
        @receivers[id] = receiver
        {"id" => id, "endpoint" => receiver.last_endpoint}
      end

      # Answers at once. The client repeats this command until the receiver has ended.
      def result(id)
        receiver = @receivers[id] or return {"error" => "there is no such measurement"}
        return {"ended" => false, "taken" => receiver.received} unless receiver.ended?
        @receivers.delete(id)
        receiver.result
      end

      # @return [String] another endpoint of the same transport and interface
      def beside(endpoint)
        return endpoint.sub(/:\d+\z/, ":*") if endpoint.start_with?("tcp:")
        "#{endpoint}-#{SecureRandom.hex(4)}"
      end
    end
  end
end
