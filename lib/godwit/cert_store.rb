# frozen_string_literal: true

module Godwit
  # The certificates of a directory: its `*.key` files.
  #
  #   store = Godwit::CertStore.new("/etc/app/clients")
  #   store["anna"].metadata                # => {"email" => "a@b"}
  #   store.by_key(key)&.name               # => "anna"
  #   store.map(&:name)
  #
  # Each lookup checks the found certificate's file by `stat`, and reads a changed file again. After
  # a lookup that found nothing the store reads the directory again, at most once a second.
  #
  # The store skips a file that is no certificate, and warns; {#problems} lists these files. If two
  # files have the same key, the store uses only the first by file name.
  #
  # **Threads**: any number of threads may use one store. One thread at a time reads the directory.
  class CertStore
    include Enumerable

    # Least seconds between two scans of the directory for lookups that found nothing.
    SCAN_EVERY = 1
    private_constant :SCAN_EVERY

    # @param dir [String, #to_path] a directory
    # @raise [CertError] when the directory cannot be read
    # @raise [ArgumentTypeError] when `dir` is no path
    def initialize(dir)
      @dir = Cert.path(dir, :cert_store).dup.freeze
      @index = Index.new(@dir)
      @lock = Mutex.new
      @told = {}
      @lock.synchronize { scan }
    end

    # @return [String] the directory
    attr_reader :dir

    # @param user_id [String] a certificate's name
    # @return [Cert, nil] the certificate with that name; of several, the first by file name
    # @raise [CertError] when the directory or a file cannot be read now
    def [](user_id) = find { @index.named(user_id) }

    # @param public_key [String] Z85 or 32 bytes
    # @return [Cert, nil]
    # @raise [CurveKeyError] when the key is malformed
    # @raise [CertError] when the directory or a file cannot be read now
    def by_key(public_key)
      raw = public_key.is_a?(String) && public_key.bytesize == 32
      key = raw ? public_key.b : Z85.decode(Curve.z85(public_key))
      find { @index.keyed(key) }
    end

    # Reads the directory, then yields each certificate, in the order of file names.
    # @yieldparam cert [Cert]
    # @return [self] or, without a block, an Enumerator
    # @raise [CertError] when the directory cannot be read
    def each(&block)
      return to_enum(:each) { size } unless block
      fresh { @index.certs }.each(&block)
      self
    end

    # Reads the directory.
    # @return [Integer] number of certificates in the directory
    # @raise [CertError] when the directory cannot be read
    def size = fresh { @index.certs.size }

    # Reads the directory.
    # @return [Array<String>] what is wrong with files in the directory, one line for each
    # @raise [CertError] when the directory cannot be read
    def problems = fresh { @index.problems }

    # @return [String]
    def inspect = "#<#{self.class} #{Cert::Files.shown(@dir)}>"
    alias_method :to_s, :inspect

    private

    def find
      @lock.synchronize do
        cert = yield
        next cert if cert
        if Timeout.now - @scanned >= SCAN_EVERY
          scan
          cert = yield
        end
        @index.check_complete unless cert
        cert
      end
    end

    def fresh
      @lock.synchronize do
        scan
        yield
      end
    end

    def scan
      begin
        @index.scan
      ensure
        @scanned = Timeout.now
      end
      problems = @index.problems
      problems.each { |problem| warn "#{inspect}: #{problem}" unless @told.key?(problem) }
      @told = problems.to_h { |problem| [problem, true] }
    end
  end
end

# This file needs the class above.
require_relative "cert_store/index"
