# frozen_string_literal: true

module Godwit
  module CLI
    # `godwit keygen`: makes the keys of a CURVE server or client.
    class Keygen < Command
      summary "Makes a CURVE certificate: NAME.key to give away, NAME.key_secret to keep."
      usage "keygen [NAME] [--dir DIR] [--meta KEY=VALUE]"

      private

      def define(options)
        options.on("--dir DIR", "where the files go; the working directory unless told") do |dir|
          @dir = dir
        end
        options.on("--meta KEY=VALUE", "metadata, such as email=a@b; any number of times") do |text|
          key, equals, value = text(text).partition("=")
          raise UsageError, "--meta takes KEY=VALUE: got #{text.inspect}" if equals.empty?
          (@metadata ||= {})[key] = value
        end
        options.separator ""
        options.separator "Prints the paths of both files and the public key. Without NAME it " \
          "prints a certificate with"
        options.separator "its secret key, and writes no file: `umask 077; godwit keygen > " \
          "server.key_secret`."
        options.separator ""
      end

      def call(arguments)
        name, *rest = arguments
        no_arguments(rest)
        raise UsageError, "--dir needs a NAME" if @dir && !name
        require "godwit"
        cert = Godwit::Cert.new(name && text(name), metadata: @metadata || {})
        if name
          io.puts(*cert.save(@dir || "."), cert.public_key)
        else
          io.write(cert.text(secret: true))
        end
        EXIT[:ok]
      end
    end
  end
end
