# frozen_string_literal: true

require "openssl"
require "socket"

module Godwit
  module TestSupport
    # Makes connected TLS sockets.
    module TLS
      # @return [Array(OpenSSL::SSL::SSLSocket, OpenSSL::SSL::SSLSocket)] client and server
      def tls_pair
        # JRuby's OpenSSL cannot wait for a socket of UNIXSocket.pair.
        ours, theirs =
          TCPServer.open("127.0.0.1", 0) do |server|
            [TCPSocket.new("127.0.0.1", server.addr[1]), server.accept].each { |io| own(io) }
          end
        server = OpenSSL::SSL::SSLSocket.new(theirs, tls_context)
        accepted = in_thread { server.accept }
        client = OpenSSL::SSL::SSLSocket.new(ours).tap(&:connect)
        ended(accepted)
        [client, server]
      end

      private

      def tls_context
        key = OpenSSL::PKey::RSA.new(2048)
        cert = OpenSSL::X509::Certificate.new
        cert.public_key = key
        cert.subject = cert.issuer = OpenSSL::X509::Name.parse("/CN=localhost") # Java needs a name
        cert.not_before = Time.at(0)
        cert.not_after = Time.at(1 << 32)
        cert.sign(key, "SHA256")
        OpenSSL::SSL::SSLContext.new.tap do |context|
          context.cert = cert
          context.key = key
        end
      end
    end
  end
end
