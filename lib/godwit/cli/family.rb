# frozen_string_literal: true

require_relative "../endpoint"
require_relative "command"
require_relative "keys"
require_relative "peer_notice"

module Godwit
  module CLI
    # Endpoints as users type them in a shell.
    module Endpoint
      module_function

      # An empty host becomes 127.0.0.1, for bind and for connect, so that no socket listens to the
      # network by default (with `tcp://*:5555` a socket does). The rest of the text stays:
      # libzmq and {Godwit::Socket} check it.
      #
      # @param text [String] such as "tcp://:5555"
      # @return [String] such as "tcp://127.0.0.1:5555"
      # @raise [UsageError] when the text has no transport
      def expand(text)
        transport, found, address = text.partition("://")
        unless found && transport.match?(/\A[a-z][a-z0-9+]*\z/) && !address.empty?
          raise UsageError, "#{text.inspect} is no endpoint: type tcp://HOST:PORT, tcp://:PORT, " \
            "ipc://PATH or inproc://NAME"
        end
        Godwit::Endpoint.with_host(text)
      end

      # @param text [String] as {expand}
      # @return [String] the endpoint, which another process can reach
      # @raise [UsageError] when the text has no transport, and for inproc
      def foreign(text)
        endpoint = expand(text)
        return endpoint unless endpoint.start_with?("inproc:")
        raise UsageError, "inproc:// connects threads of one process: use tcp:// or ipc://"
      end
    end

    # A command whose first argument names a subcommand, which does the work: `godwit log tail`. A
    # subclass has SUBCOMMANDS: a Hash from name to class name, in the order of the help.
    class Family < Command
      # A command that accepts an endpoint and CURVE keys.
      class Subcommand < Command
        # (see Command#run)
        def run(arguments, io: $stdout)
          super
        rescue Errno::EADDRINUSE => error
          raise unless error.respond_to?(:endpoint)
          warn "godwit: #{error.endpoint} is in use"
          EXIT[:failed]
        ensure
          @keys&.close
        end

        private

        def keys = @keys ||= Keys.new(options)
        def define_keys(parser, **which) = Keys.define(parser, **which)

        def server_security(*endpoints, context: nil)
          Godwit::Endpoint.with_ipv6(endpoints, keys.server(context))
        end

        def client_security(*endpoints) = Godwit::Endpoint.with_ipv6(endpoints, keys.client)

        def define_quiet(parser)
          parser.on("--quiet", "prints no lines about absent peers")
        end

        # Runs the block. Meanwhile, prints on standard error if the endpoint has no peer, and why.
        def telling(type, endpoint, &block)
          PeerNotice.beside(type, endpoint, quiet: options[:quiet], **client_security(endpoint),
            &block)
        end

        def endpoint_option(parser, name, *text)
          parser.on("#{name} ENDPOINT", *text) { |endpoint| Endpoint.expand(endpoint) }
        end

        def endpoint(arguments) = Endpoint.expand(arguments.first || raise(missing("endpoint")))

        def only_endpoint(arguments)
          no_arguments(arguments.drop(1))
          endpoint(arguments)
        end

        def foreign_endpoint(arguments)
          Endpoint.foreign(arguments.first || raise(missing("endpoint")))
        end
      end

      # (see Command#run)
      def run(arguments, io: $stdout)
        name, *rest = arguments
        if name == "help"
          io.puts help_for(rest)
          return EXIT[:ok]
        end
        subcommand = subcommand(name)
        subcommand ? subcommand.run(rest, io: io) : super
      end

      # (see Command#subcommands)
      def subcommands
        self.class::SUBCOMMANDS.transform_values { |name| self.class.const_get(name) }
      end

      # (see Command#help_text)
      def help_text
        command = "#{self.class.command_line[/\S+ \S+/]} #{subcommands.keys.first}"
        "#{super}\n`#{command} --help` and so on list the options.\n"
      end

      # (see Command#help_for)
      def help_for(words)
        return super if words.empty?
        subcommand = subcommand(words.first) or call(words)
        subcommand.help_for(words.drop(1))
      end

      private

      def subcommand(name) = subcommands[name]&.new

      def listed = subcommands.values

      def define(parser)
        listed.each { |one| parser.separator("  #{one.command_line}\n      #{one.summary}") }
        parser.separator ""
      end

      def call(arguments)
        usages = subcommands.each_value.map { |one| "`#{one.command_line}`" }.join(", ")
        first = arguments.first
        given = ", not #{first.inspect}#{CLI.nearest(first, subcommands.keys)}" if first
        raise UsageError, "type #{usages}#{given}"
      end
    end
  end
end
