# frozen_string_literal: true

require_relative "sockets/types"
require_relative "sockets/forms"
require_relative "sockets/input"
require_relative "sockets/evaluator"
require_relative "sockets/session"

module Godwit
  module CLI
    # `godwit req`, `rep`, `pub` and so on: a socket in the shell. {TYPES} has the commands, {ONLY}
    # the options that not all types accept, each with the types that do.
    module Sockets
      # The command of a socket type. {.for} makes a subclass for each type.
      class Command < Family::Subcommand
        SHORT_LINGER = 0.2 # seconds that unsent messages may delay the process's end after a signal
        EXIT_LINGER = -800 # ms; at exit 1,000 are added: unsent messages may delay the exit by 200
        private_constant :SHORT_LINGER, :EXIT_LINGER

        class << self
          attr_reader :type

          def for(type)
            Class.new(self) do
              @type = type
              summary type.summary
              usage "#{type.name} -b|-c ENDPOINT [options]"
            end
          end
        end

        private

        def type = self.class.type

        def define(parser)
          define_endpoints(parser)
          define_input(parser)
          define_forms(parser)
          define_limits(parser)
          define_keys(parser)
          define_quiet(parser)
        end

        def define_endpoints(parser)
          list_option(parser, "--bind ENDPOINT", "-b", "binds; may be repeated") do |text|
            endpoint("--bind", text)
          end
          list_option(parser, "--connect ENDPOINT", "-c", "connects; may be repeated") do |text|
            endpoint("--connect", text)
          end
          only(:subscribe) do
            list_option(parser, "--subscribe TOPIC", "-s",
              "messages that begin with TOPIC; may be repeated; default: all messages")
          end
          only(:identity) do
            parser.on("--identity ID", "the routing id that a ROUTER sees: 1 to 255 bytes") do |id|
              next id if id.bytesize.between?(1, 255) && !id.start_with?("\0")
              raise UsageError, "--identity is 1 to 255 bytes"
            end
          end
        end

        def define_input(parser)
          only(:data) do
            list_option(parser, "--data TEXT", "-D",
              (type.name == :rep) ? "the reply to all requests" : "sends TEXT; may be repeated")
            parser.on("-F", "--file FILE", "sends FILE's messages; - and default: standard input")
          end
          only(:echo) { parser.on("--echo", "sends back what it receives") }
          parser.on("-e", "--eval RUBY", eval_text) { |code| Evaluator.new(code) }
          only(:interval) do
            seconds_option(parser, "--interval", "the time from a message to the next")
          end
          only(:rate) { count_option(parser, "--rate", "N messages a second") }
        end

        def eval_text
          if answers?
            "the reply to a message, whose frames are in m"
          else
            what = (type.work == :send_all) ? "sends" : "prints"
            "#{what} the value for each message, whose frames are in m; nil skips the message"
          end
        end

        def define_forms(parser)
          parser.on("-J", "--json", "a message is a JSON array on a line; frames that are not " \
            "UTF-8 are {\"base64\": \"…\"}")
          parser.on("-0", "--null", "a NUL ends a message, instead of a newline")
          parser.on("--hex", "frames are hexadecimal")
        end

        def define_limits(parser)
          count_option(parser, "--count", "ends after N #{type.counts}")
          timeout_option(parser)
          only(:wait_peers) do
            default = " (1); 0 does not wait" if type.name == :pub
            what = default ? "subscriptions" : "peers"
            parser.on("--wait-peers N", OptionParser::DecimalInteger,
              "sends when there are N #{what}#{default}") do |count|
              default ? not_negative(count, "--wait-peers") : positive(count, "--wait-peers")
            end
          end
        end

        def only(option) = (yield if type.accepts?(option))

        # If another type accepts the option, the error names the types that do.
        def parse(arguments)
          super
        rescue OptionParser::InvalidOption => error
          given = error.args.first.to_s[/\A--[^=]+|\A-./]
          option = SHORT[given] || given.to_s.delete_prefix("--").tr("-", "_").to_sym
          types = ONLY[option] or raise
          raise UsageError, "#{given} is for #{types.join(", ")}, not for #{type.name}"
        end

        def endpoint(option, text)
          require "godwit"
          Endpoint.foreign(text).tap do |endpoint|
            Godwit::Endpoint.check(endpoint, option.delete_prefix("--").to_sym)
          end
        rescue UsageError, Godwit::Error => error
          raise UsageError, "#{option}: #{CLI.words_of(error)}"
        end

        def call(arguments)
          no_arguments(arguments)
          check_options
          require "godwit"
          form = Forms.of(options, io.tty?)
          input = input(form)
          context = Context.new(linger: nil)
          socket = open_socket(context)
          notice = PeerNotice.new(socket, quiet: options[:quiet] || !announces?)
          attach(socket)
          Session.new(type, socket, notice, input, io, form, settings).run
        ensure
          socket ? close(socket) : context&.close
        end

        # If Session#flush has run, the socket is closed already.
        def close(socket)
          socket.linger = SHORT_LINGER unless socket.closed?
          socket.close
          socket.context.close
        end

        def check_options
          one_of(:json, :null, :hex)
          one_of(:data, :file, :echo, *(:eval if answers?))
          one_of(:interval, :rate)
          return if options[:bind] || options[:connect]
          raise UsageError, "where? type -b ENDPOINT to bind, or -c ENDPOINT to connect"
        end

        def answers? = %i[rep router].include?(type.name)

        def input(form)
          return if !type.sends? || options[:echo] || (answers? && options[:eval])
          return data(form) if options[:data]
          path = options.fetch(:file, "-")
          stream = (path == "-") ? $stdin : File.open(path, "rb")
          Input.new(form, stream: stream) unless stream.closed?
        rescue SystemCallError => error
          raise UsageError, "--file: #{error.message}"
        end

        # Repeats --data for a REP, with --interval or --rate, or if --count counts sent messages.
        def data(form)
          again = type.name == :rep || pause || (options[:count] && type.work != :converse)
          Input.new(form, texts: options[:data], again: again)
        rescue InputError => error
          raise UsageError, error.message
        end

        def open_socket(context)
          context.exit_linger = EXIT_LINGER
          Godwit.const_get(type.name.upcase).new(context: context, **{
            routing_id: options[:identity], mandatory: (true if type.name == :router),
            subscribe: (options.fetch(:subscribe, "") if type.name == :sub)
          }.compact, **security(context))
        end

        # A socket is a CURVE server or a CURVE client, on all its endpoints.
        def security(context)
          endpoints = [*options[:bind], *options[:connect]]
          server = options[:bind] && !(options[:connect] && options[:server_key])
          server ? server_security(*endpoints, context: context) : client_security(*endpoints)
        end

        def attach(socket)
          options[:bind]&.each do |endpoint|
            socket.bind(endpoint)
            warn "godwit: #{socket.last_endpoint}" if endpoint.end_with?("*")
          end
          options[:connect]&.each { |endpoint| socket.connect(endpoint) }
        end

        # @return [Boolean] whether a notice is printed when the socket has no peer
        def announces? = options[:connect] || type.sends_first? || options[:wait_peers]

        def settings
          peers = options.fetch(:wait_peers, (type.name == :pub) ? 1 : 0)
          {evaluate: options[:eval], wait_peers: peers.nonzero?, pause: pause,
           **options.slice(:echo, :count, :timeout)}
        end

        def pause = options[:interval] || options[:rate]&.then { |rate| 1.0 / rate }
      end

      TYPES.each_value do |type|
        name = type.name.capitalize
        CLI.const_set(name, Command.for(type))
        CLI.private_constant(name)
      end
    end
    private_constant :Sockets
  end
end
