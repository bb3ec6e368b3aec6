# frozen_string_literal: true

module Godwit
  module CLI
    # `godwit keygen`: makes the keys of a CURVE server or client.
    class Keygen < Command
      summary "Makes a CURVE certificate: NAME.key to give away, NAME.key_secret to keep."
      usage "keygen [NAME] [--dir DIR] [--meta KEY=VALUE]"
      notes <<~TEXT
        Prints the paths of both files and the public key. Without NAME it prints a certificate
        with its secret key, and writes no file:
        `umask 077; godwit keygen > server.key_secret`.
      TEXT

      private

      def define(parser)
        parser.on("--dir DIR", "where the files go; the working directory unless told")
        list_option(
          parser, "--meta KEY=VALUE", "metadata, such as email=a@b; any number of times"
        ) { |given| metadata(given) }
      end

      # Keeps invalid bytes, which {Cert} refuses: replacing them could give two names the same
      # file.
      def utf8(argument) = argument.dup.force_encoding(Encoding::UTF_8)

      def metadata(given)
        key, equals, value = utf8(given).partition("=")
        raise UsageError, "--meta takes KEY=VALUE: got #{given.inspect}" if equals.empty?
        [key, value]
      end

      def call(arguments)
        name, *rest = arguments
        no_arguments(rest)
        raise UsageError, "--dir needs a NAME" if options[:dir] && !name
        require "godwit"
        cert = Godwit::Cert.new(name && utf8(name), metadata: options[:meta].to_h)
        if name
          io.puts(*cert.save(options[:dir] || "."), cert.public_key)
        else
          io.write(cert.text(secret: true))
        end
        EXIT[:ok]
      end
    end
  end
end
