# frozen_string_literal: true

module Godwit
  module CLI
    # CURVE on the command line: `--keys`, `--server-key` and `--clients`. A secret key comes from a
    # file, since every user of the machine can read a command line.
    class Keys
      # A line with just a key, or with `public-key = "…"` as in CZMQ's certificates.
      FORM = /^\s*(?:(?<name>public|secret)-key\s*=\s*)?"?(?<key>[!-~]{40})"?\s*$/
      DOMAIN = "godwit" # the ZAP domain of a server with `--clients`

      class << self
        # @param server [Boolean] whether the command is always the CURVE server
        # @param clients [Boolean] whether the command may be a CURVE server
        def define(parser, server: false, clients: true)
          value_of(parser, "--keys FILE",
            "CURVE: own secret key: a certificate (`godwit keygen`), or the key alone in a file")
          if clients
            value_of(parser, "--clients DIR",
              "CURVE server: only clients with a certificate in DIR may connect; needs --keys")
          end
          return if server
          value_of(parser, "--server-key KEY",
            "CURVE: the server's public key, or a file that holds it")
        end

        private

        # An empty value usually comes from a variable of the shell that is not set.
        def value_of(parser, flag, text)
          parser.on(flag, text) do |value|
            next value unless value.empty?
            raise UsageError, "#{flag[/\S+/]} is empty: is the variable that holds it set? " \
              "Leave it out to do without"
          end
        end
      end

      def initialize(options)
        @options = options
      end

      # @return [Auth, nil] the authenticator that {#server} made for `--clients`
      attr_reader :auth

      # @return [Hash] CURVE options of a socket that binds; {} without --keys
      def server(context = nil)
        raise UsageError, "--server-key is only for a CURVE client" if @options[:server_key]
        raise UsageError, "--clients needs --keys FILE" if @options[:clients] && !@options[:keys]
        return {} unless @options[:keys]
        {curve: pair, **(@options[:clients] ? {auth: authenticate(context)} : {})}
      end

      # @return [Hash] CURVE options of a socket that connects; {} without --server-key
      def client
        raise UsageError, "--clients is for the server, which binds" if @options[:clients]
        server_key = @options[:server_key]
        unless server_key
          raise UsageError, "--keys needs --server-key KEY" if @options[:keys]
          return {}
        end
        # Without --keys a client gets a new key pair: enough for a server that admits every client
        # that knows the server's public key.
        {curve: @options[:keys] ? pair : Curve.keypair, server_key: public_key(server_key)}
      end

      def close = @auth&.close

      private

      def authenticate(context)
        @auth = Godwit::Auth.new(context: context)
        value_for("--clients") { @auth.curve(dir: @options[:clients], domain: DOMAIN) }
        DOMAIN
      end

      def pair
        value_for("--keys") { Curve::Keypair.new(secret_key: key_in(@options[:keys], "secret")) }
      end

      def public_key(given)
        value_for("--server-key") do
          next key_in(given, "public") if File.file?(given)
          next Curve.z85(given) if given.size == 40
          raise UsageError, "--server-key: there is no file #{given.inspect}, and a key has 40 " \
            "characters"
        end
      end

      # The value of an option. A file that cannot be read, or has no key, is a usage error.
      def value_for(option)
        yield
      rescue SystemCallError, Godwit::Error => error
        raise UsageError, "#{option}: #{CLI.words_of(error)}"
      end

      # The key in a file. A key without a name may be a public or a secret key.
      def key_in(path, name)
        keys = nil
        Godwit::Cert::Files.read(path) do |text|
          keys = keys_of(text)
          keys["secret"] || (name == "secret" && keys[nil])
        end
        key = keys[name] || keys[nil]
        return Curve.z85(key) if key
        raise CurveKeyError.new("#{path} holds no #{name} key: 40 characters of Z85 on a line",
          operation: :curve)
      end

      # @return [Hash{String, nil => String}] "public", "secret", or nil (no name) => a key
      def keys_of(text)
        found = text.lines.filter_map { |line| FORM.match(line) }
        keys = found.reverse.to_h { |match| [match[:name], match[:key]] }
        certificate = Godwit::Cert::ZPL.parse(text).fetch("curve", {})
        names = %w[public secret].select { |name| certificate.key?("#{name}-key") }
        keys.merge(names.to_h { |name| [name, certificate["#{name}-key"]] })
      rescue Godwit::Cert::ZPL::SyntaxError
        keys
      end
    end
    private_constant :Keys
  end
end
