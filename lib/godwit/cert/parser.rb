# frozen_string_literal: true

module Godwit
  class Cert
    # Makes a {Cert} from the text of a file.
    # @private
    module Parser
      module_function

      def load(path)
        sections = nil
        text, stat = Files.read(path, pipe: false) do |bytes|
          sections = sections(bytes, path)
          sections.dig("curve", "secret-key")
        end
        [certificate(sections, path, text), stat]
      end

      def stem(path)
        base = File.basename(path).b.sub(/\.key(?:_secret)?\z/n, "")
        base.force_encoding(Encoding::UTF_8)
      end

      def sections(text, path)
        ZPL.parse(text)
      rescue ZPL::SyntaxError => error
        raise failure(path, error.line, error.message)
      end

      def certificate(sections, path, text)
        keys = sections.fetch("curve", {})
        public_key = key(keys, "public-key", path, text)
        secret_key = key(keys, "secret-key", path, text)
        unless public_key || secret_key
          raise failure(path, 1, "has no public-key and no secret-key below a line \"curve\"")
        end
        make(sections.fetch("metadata", {}), public_key, secret_key, path, text)
      end

      # CZMQ writes a secret key of zeros for a certificate without a secret key.
      def key(keys, name, path, text)
        value = keys[name] or return
        return if name == "secret-key" && value == "0" * 40
        raise CurveKeyError unless value.bytesize == 40
        Curve.z85(value)
      rescue CurveKeyError
        raise failure(path, line_of(name, text), "has a #{name} that is not 40 characters of Z85"),
          cause: nil
      end

      def make(metadata, public_key, secret_key, path, text)
        pair = Curve::Keypair.new(secret_key: secret_key) if secret_key
        if pair && public_key && pair.public_key != public_key
          raise failure(
            path, line_of("secret-key", text), "has a secret-key that is not that of its public-key"
          )
        end
        name = metadata["name"] || stem(path)
        unless Cert.name?(name)
          raise failure(path, 1, "has a name that is not 1 to #{LONGEST_NAME} bytes of UTF-8: " \
            "rename the file, or give it a name below a line \"metadata\"")
        end
        Cert.read(name, metadata, public_key || pair.public_key, pair)
      end

      def line_of(name, text)
        property = /\A\s*#{name}\s*=/
        text.each_line.with_index(1) { |line, number| return number if line.match?(property) }
        1
      end

      def failure(path, line, problem)
        CertError.new("#{Files.shown(path)}, line #{line}: #{problem}", operation: :cert)
      end
    end
  end
end
