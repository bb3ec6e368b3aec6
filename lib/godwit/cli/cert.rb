# frozen_string_literal: true

module Godwit
  module CLI
    # `godwit cert`: the commands for certificate files.
    class Cert < Family
      summary "Shows the CURVE certificates of a file or a directory."
      usage "cert show FILE|DIR"

      # `godwit cert show`: names, public keys, metadata and problems.
      class Show < Command
        summary "Lists names, public keys, metadata and problems; status 1 if there is a problem."
        usage "cert show FILE|DIR"
        notes "In a directory it reads the *.key and *.key_secret files. It shows no secret key."

        private

        def call(arguments)
          path, *rest = arguments
          raise missing("file or directory") unless path
          no_arguments(rest)
          require "godwit"
          problems = File.directory?(path) ? directory(path) : file(path)
          problems.each { |problem| io.puts "problem: #{problem}" }
          problems.empty? ? EXIT[:ok] : EXIT[:failed]
        end

        def file(path)
          show(Godwit::Cert.load(path))
          []
        rescue CertError => error
          [error.message]
        end

        def directory(path)
          index = Godwit::CertStore::Index.new(path)
          index.scan
          index.certs.each { |cert| show(cert) }
          secrets = Dir.children(path).select { |name| name.end_with?(Godwit::Cert::SECRET) }
          index.problems + secrets.sort.flat_map { |name| file(File.join(path, name)) }
        end

        def show(cert)
          io.puts "#{shown(cert.name)}#{" (with its secret key)" if cert.secret?}"
          io.puts "    public-key = #{cert.public_key}"
          cert.metadata.each { |name, value| io.puts "    #{shown(name)} = #{shown(value)}" }
        end

        def shown(text) = Godwit::Cert.printable(text)
      end

      # The subcommands, in the order in which the help lists them.
      SUBCOMMANDS = {"show" => :Show}.freeze
    end
  end
end
