# frozen_string_literal: true

module Godwit
  # A CURVE certificate: a key, or a pair of keys, with a name and metadata. Certificates are stored
  # in files that CZMQ and pyzmq read and write: `anna.key` has the public key, `anna.key_secret`
  # has both keys.
  #
  #   Godwit::Cert.new("anna", metadata: {"email" => "a@b"}).save("/etc/app/keys")
  #   anna = Godwit::Cert.load("/etc/app/keys/anna.key_secret")
  #   Godwit::REQ.connect(url, curve: anna, server_key: Godwit::Cert.load("server.key"))
  #
  # A Cert is frozen; any thread and any Ractor may use it. `inspect` hides the secret key.
  #
  # @see http://czmq.zeromq.org/czmq4-0:zcert zcert
  # @see https://rfc.zeromq.org/spec/4/ RFC 4, the format
  class Cert
    extend Keywords

    # Suffix of the name of a file without a secret key.
    PUBLIC = ".key"
    # Suffix of the name of a file with the secret key.
    SECRET = ".key_secret"
    # The most bytes of a name: libzmq accepts no longer user id.
    LONGEST_NAME = 255

    # @return [String, nil] from the metadata, or else from the file name; nil: the certificate has
    #   no name
    attr_reader :name

    # @return [String] Z85, 40 characters
    attr_reader :public_key

    # @return [Curve::Keypair, nil] both keys; nil when the certificate has no secret key
    attr_reader :keypair

    # @return [Hash{String => String}] properties by name, frozen
    attr_reader :metadata

    # Makes a certificate, with new keys unless a key is given.
    # @param name [String, nil] 1 to 255 bytes of UTF-8 without control characters; nil: the name in
    #   the metadata, if any
    # @param metadata [Hash{String => String}] property names consist of letters, digits, `.`, `_`
    #   and `-`; values have no control characters, and not both `"` and `'`
    # @param keypair [Curve::Keypair, nil] nil: a new pair, unless `public_key:` is given
    # @param public_key [String, nil] Z85 or 32 bytes; without `keypair:` there is no secret key
    # @raise [ArgumentValueError, ArgumentTypeError] when an argument is not allowed
    # @raise [CurveKeyError] for a malformed key
    # @raise [UnsupportedError] when libzmq was built without CURVE
    def initialize(name = nil, metadata: {}, keypair: nil, public_key: nil)
      @metadata = checked(metadata)
      @name = chosen(name)
      unless keypair.nil? || keypair.is_a?(Curve::Keypair)
        raise Errors.bad_type(:cert, "keypair:", "a Godwit::Curve::Keypair", keypair.class)
      end
      if keypair && public_key && Curve.z85(public_key) != keypair.public_key
        raise Errors.of(
          ArgumentValueError, :cert, "public_key: is not that of keypair:; give one of them"
        )
      end
      @keypair = keypair || (public_key ? nil : Curve.keypair)
      @public_key = @keypair ? @keypair.public_key : Curve.z85(public_key).freeze
      freeze
    end

    # Reads a certificate from a file.
    # @param path [String, #to_path]
    # @return [Cert]
    # @raise [CertError] when the file cannot be read, is no certificate, or has a secret key that
    #   other users may read; the message names file and line, and contains no key
    def self.load(path)
      Parser.load(Cert.path(path, :load)).first
    end

    # @private
    def self.path(path, operation)
      text = path.respond_to?(:to_path) ? path.to_path : path
      return text if text.is_a?(String) && !text.include?("\0") && !text.empty?
      raise Errors.bad_type(operation, "the path", "a String or a Pathname without NUL", path)
    end

    # @private
    def self.join(folder, file)
      encoding = (folder.ascii_only? ? file : folder).encoding
      File.join(folder.b, file.b).force_encoding(encoding)
    end

    # @private
    # @return [Boolean] whether `name` can be a certificate's name, which is the peer's user id
    def self.name?(name)
      name.is_a?(String) && !name.empty? && name.bytesize <= LONGEST_NAME &&
        !name.encode(Encoding::UTF_8).match?(/[\u0000-\u001F\u007F]/)
    rescue ::ArgumentError, EncodingError
      false
    end

    # @private
    # @return [String] `text` for a terminal or a log: characters that change the display, such as
    #   control characters and marks of direction, are escaped, so that no name looks like another
    def self.printable(text)
      text.gsub(/[\p{C}\p{Zl}\p{Zp}]/) { |character| character.dump[1..-2] }
    end

    # @private
    # @return [Cert] made without checks from a file's content, which {#save} may refuse to write
    def self.read(...) = allocate.tap { |cert| cert.fill(...) }

    # @return [Boolean] whether the certificate has a secret key
    def secret? = !@keypair.nil?

    # Writes `NAME.key` (mode 0644 less the umask) and, with a secret key, `NAME.key_secret` (mode
    # 0600). Each file is written completely or not at all.
    # @param dir [String, #to_path] a directory that exists
    # @param replace [Boolean] whether existing files are overwritten
    # @return [Array<String>] the paths: the public file, then the secret one
    # @raise [CertError] when a file exists, or the system refuses
    # @raise [ArgumentValueError] when the name is no file name
    def save(dir, replace: false)
      files = {}
      # The secret file comes first: without it the public file is useless.
      files[file(dir, SECRET)] = [text(secret: true), Files::SECRET_MODE] if secret?
      files[file(dir, PUBLIC)] = [text, Files::PUBLIC_MODE]
      Files.write(files, replace: replace).reverse
    end

    # Writes only `NAME.key`, the file to give to peers.
    # @param dir [String, #to_path] a directory that exists
    # @param replace [Boolean] whether an existing file is overwritten
    # @return [String] the path
    # @raise [CertError, ArgumentValueError] as {#save}
    def save_public(dir, replace: false)
      Files.write({file(dir, PUBLIC) => [text, Files::PUBLIC_MODE]}, replace: replace).first
    end

    # @private
    def text(secret: false)
      kind = secret ? "Secret" : "Public"
      advice = secret ? "DO NOT PROVIDE THIS FILE TO OTHER USERS" : "This file may be given away"
      keys = {"public-key" => public_key}
      keys["secret-key"] = keypair.secret_key if secret
      header = "#   ZeroMQ CURVE #{kind} Certificate, written by Godwit\n#   #{advice}\n\n"
      header + ZPL.dump({"metadata" => metadata, "curve" => keys})
    rescue ::ArgumentError => error
      raise Errors.of(ArgumentValueError, :save, "metadata: #{error.message}"), cause: nil
    end

    # @param other [Object]
    # @return [Boolean] whether name, metadata and keys are the same
    def ==(other)
      other.is_a?(Cert) && name == other.name && metadata == other.metadata &&
        public_key == other.public_key && keypair == other.keypair
    end

    # @return [String] without the secret key
    def inspect
      "#<#{self.class} #{name.inspect} #{public_key}#{" secret_key=[hidden]" if secret?}>"
    end
    alias_method :to_s, :inspect

    # @private
    def fill(name, metadata, public_key, keypair)
      @name = name.dup.freeze
      @metadata = metadata.to_h { |key, value| [key.dup.freeze, value.dup.freeze] }.freeze
      @public_key = public_key.dup.freeze
      @keypair = keypair
      freeze
    end

    private

    def checked(metadata)
      unless metadata.is_a?(Hash)
        raise Errors.bad_type(:cert, "metadata:", "a Hash of Strings", metadata)
      end
      metadata.to_h { |key, value|
        ZPL.quote(ZPL.checked_name(key), value)
        [key.dup.freeze, value.encode(Encoding::UTF_8).freeze]
      }.freeze
    rescue ::ArgumentError => error
      raise Errors.of(ArgumentValueError, :cert, "metadata: #{error.message}"), cause: nil
    end

    def chosen(name)
      written = @metadata["name"]
      if name && written && name != written
        raise Errors.of(
          ArgumentValueError, :cert,
          "metadata: has another name, #{written.inspect}: give one of them"
        )
      end
      name ||= written
      return name && name.encode(Encoding::UTF_8).freeze if name.nil? || Cert.name?(name)
      raise Errors.bad_value(
        :cert, "the name", "1 to #{LONGEST_NAME} bytes of UTF-8 without control characters", name
      )
    end

    def file(dir, ending)
      if name.nil? || name.include?("/") || name.start_with?(".")
        raise Errors.bad_value(
          :save, "the certificate's name", "the start of a file name", name
        )
      end
      Cert.join(Cert.path(dir, :save), name + ending)
    end
  end
end

# These files need the class above.
require_relative "cert/zpl"
require_relative "cert/files"
require_relative "cert/parser"
