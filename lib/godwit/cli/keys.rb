# frozen_string_literal: true

module Godwit
  module CLI
    # CURVE on the command line: `--keys`, `--server-key` and `--clients`. A secret never stands
    # there, where every user of the machine could read it; it comes from a file.
    module Keys
      # A key by itself on a line, or `public-key = "…"` as CZMQ's certificates have it.
      FORM = /^\s*(?:(?<name>public|secret)-key\s*=\s*)?"?(?<key>[!-~]{40})"?\s*$/
      # The domain of a server with `--clients`.
      DOMAIN = "godwit"
      private_constant :FORM, :DOMAIN

      # Ends the Auth of `--clients` with the command.
      # @param arguments [Array<String>] as {Command#run}
      # @param io [IO] where it prints
      # @return [Integer] exit status
      # @raise [UsageError, OptionParser::ParseError] when the arguments are wrong
      def run(arguments, io: $stdout)
        super
      ensure
        @auth&.close
      end

      private

      # @param server [Boolean] whether it is the server in any case
      # @param clients [Boolean] whether it may be a server
      def define_keys(options, server: false, clients: true)
        options.on(
          "--keys FILE",
          "CURVE: own secret key: a certificate (`godwit keygen`), or the key alone in a file"
        ) { |path| @keys = path }
        if clients
          options.on(
            "--clients DIR",
            "CURVE server: only clients with a certificate in DIR may connect; needs --keys"
          ) { |path| @clients = path }
        end
        return if server
        options.on(
          "--server-key KEY", "CURVE: the server's public key, or a file that holds it"
        ) { |key| @server_key = key }
      end

      # @return [Hash] options of a socket that is CURVE's server; {} without --keys
      def server_security
        raise UsageError, "--server-key is for those that are not the server" if @server_key
        raise UsageError, "--clients needs --keys FILE" if @clients && !@keys
        return {} unless @keys
        {curve: pair, **(@clients ? {auth: authenticate} : {})}
      end

      # @return [Hash] options of a socket that is its client; {} without --server-key
      def client_security
        raise UsageError, "--clients is for the server, which binds" if @clients
        raise UsageError, "--keys needs --server-key KEY" if @keys && !@server_key
        @server_key ? {curve: client_pair, server_key: server_key} : {}
      end

      # @return [String] the domain
      def authenticate
        @auth = Godwit::Auth.new
        @auth.curve(dir: @clients, domain: DOMAIN)
        DOMAIN
      end

      def pair = Curve::Keypair.new(secret_key: key_in(@keys, "secret"))

      # Without --keys one for this run: the server may let in everybody who knows its public key.
      def client_pair = @keys ? pair : Curve.keypair

      def server_key
        File.file?(@server_key) ? key_in(@server_key, "public") : Curve.z85(@server_key)
      end

      # A file without names may hold either key.
      def key_in(path, name)
        keys = nil
        Godwit::Cert::Files.read(path) do |text|
          keys = keys_of(text)
          keys["secret"] || (name == "secret" && keys[nil])
        end
        key = keys[name] || keys[nil]
        return Curve.z85(key) if key
        raise CurveKeyError.new(
          "#{path} holds no #{name} key: 40 characters of Z85 on a line", operation: :curve
        )
      end

      # @return [Hash{String, nil => String}] by "public" and "secret"; nil: without a name
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
  end
end
