# frozen_string_literal: true

module Godwit
  module CLI
    # CURVE on the command line: `--keys` and `--server-key`. A secret never stands there, where
    # every user of the machine could read it; it comes from a file.
    module Keys
      # A key by itself on a line, or `public-key = "…"` as CZMQ's certificates have it.
      FORM = /^\s*(?:(?<name>public|secret)-key\s*=\s*)?"?(?<key>[!-~]{40})"?\s*$/
      private_constant :FORM

      private

      # @param server [Boolean] whether it is the server in any case
      def define_keys(options, server: false)
        options.on(
          "--keys FILE",
          "CURVE: own secret key, in a file (as docs/security.md makes it, or CZMQ's certificate)"
        ) { |path| @keys = path }
        return if server
        options.on(
          "--server-key KEY", "CURVE: the server's public key, or a file that holds it"
        ) { |key| @server_key = key }
      end

      # @return [Hash] options of a socket that is CURVE's server; {} without --keys
      def server_security
        raise UsageError, "--server-key is for those that are not the server" if @server_key
        @keys ? {curve: pair} : {}
      end

      # @return [Hash] options of a socket that is its client; {} without --server-key
      def client_security
        raise UsageError, "--keys needs --server-key KEY" if @keys && !@server_key
        @server_key ? {curve: client_pair, server_key: server_key} : {}
      end

      def pair
        if File.stat(@keys).mode.anybits?(0o077)
          warn "godwit: others may read #{@keys}, which holds a secret key: chmod 600 #{@keys}"
        end
        Curve::Keypair.new(secret_key: key_in(@keys, "secret"))
      end

      # Without --keys one for this run: the server may let in everybody who knows its public key.
      def client_pair = @keys ? pair : Curve.keypair

      def server_key
        File.file?(@server_key) ? key_in(@server_key, "public") : Curve.z85(@server_key)
      end

      def key_in(path, name)
        found =
          File
            .read(path, 65_536, encoding: Encoding::BINARY)
            .to_s
            .lines
            .filter_map { |line| FORM.match(line) }
        key =
          found.find { |match| match[:name] == name } || found.find { |match| match[:name].nil? }
        unless key
          raise CurveKeyError.new(
            "#{path} holds no #{name} key: 40 characters of Z85 on a line", operation: :curve
          )
        end
        Curve.z85(key[:key])
      end
    end
  end
end
