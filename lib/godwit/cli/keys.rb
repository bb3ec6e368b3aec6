# frozen_string_literal: true

module Godwit
  module CLI
    # CURVE on the command line: `--keys` and `--server-key`. A secret key comes from a file, since
    # every user of the machine can read a command line.
    module Keys
      # A key by itself on a line, or `public-key = "…"` as CZMQ's certificates have it.
      FORM = /^\s*(?:(?<name>public|secret)-key\s*=\s*)?"?(?<key>[!-~]{40})"?\s*$/
      private_constant :FORM

      private

      def define_keys(parser, server: false)
        parser.on("--keys FILE",
          "CURVE: own secret key, in a file (docs/security.md makes one; or CZMQ's certificate)")
        return if server
        parser.on("--server-key KEY", "CURVE: the server's public key, or a file that holds it")
      end

      # @return [Hash] socket options; {} without --keys
      def server_security
        raise UsageError, "--server-key is only for a CURVE client" if options[:server_key]
        options[:keys] ? {curve: pair} : {}
      end

      # @return [Hash] socket options; {} without --server-key
      def client_security
        server_key = options[:server_key]
        unless server_key
          raise UsageError, "--keys needs --server-key KEY" if options[:keys]
          return {}
        end
        # Without --keys, a new key pair, for servers that admit all clients with their public key.
        {curve: options[:keys] ? pair : Curve.keypair,
         server_key: File.file?(server_key) ? key_in(server_key, "public") : Curve.z85(server_key)}
      end

      def pair
        path = options[:keys]
        if File.stat(path).mode.anybits?(0o077)
          warn "godwit: others may read #{path}, which holds a secret key: chmod 600 #{path}"
        end
        Curve::Keypair.new(secret_key: key_in(path, "secret"))
      end

      def key_in(path, name)
        text = File.read(path, 65_536, encoding: Encoding::BINARY).to_s
        found = text.lines.filter_map { |line| FORM.match(line) }
        key = found.find { |match| match[:name] == name } || found.find { |match| !match[:name] }
        unless key
          raise CurveKeyError.new("#{path} holds no #{name} key: 40 characters of Z85 on a line",
            operation: :curve)
        end
        Curve.z85(key[:key])
      end
    end
  end
end
