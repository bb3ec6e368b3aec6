# frozen_string_literal: true

module Godwit
  class CertStore
    # The certificates of a directory by file, key and name. A file counts as unchanged while its
    # facts (inode, size, ctime) are the same. The caller holds the store's lock.
    # @private
    class Index
      # A file's certificate and public key, or its problem. The file is read again if the entry has
      # no `facts` (inode, size, ctime), or is `racy`: the file changed just before it was read.
      Entry = Struct.new(:cert, :key, :problem, :path, :facts, :racy)
      # Most files with one key or name that a lookup checks.
      TRIES = 10
      # System errors of a file that last until somebody changes something. Other errors may pass.
      LASTING = [
        Errno::EACCES, Errno::EPERM, Errno::ELOOP, Errno::ENAMETOOLONG, Errno::ENXIO, Errno::ENODEV
      ].freeze

      def initialize(dir)
        @dir = dir
        @entries = {}
        @keys = {}
        @names = {}
        @unread = []
      end

      # Reads the directory, and each file in it that has changed. A file that cannot be read now
      # keeps its earlier entry.
      def scan
        files = Dir.children(@dir).select { |file| file.b.end_with?(Cert::PUBLIC) }.sort
        @unread = []
        @entries = files.to_h { |file| [file, scanned(file, @entries[file])] }.compact
        rebuild
      rescue SystemCallError => error
        failure = Cert::Files.failure(@dir, Runtime.strerror(error.errno))
        @unread = [failure.message]
        raise failure, cause: nil
      end

      # @raise [CertError] when the last {#scan} could not read everything: a certificate that a
      #   lookup did not find may exist nevertheless
      def check_complete
        raise CertError.new(@unread.first, operation: :cert) if @unread.any?
      end

      # @param key [String] 32 bytes, binary
      def keyed(key) = confirmed { @keys[key] }

      def named(name) = confirmed { @names[name] }

      # @return [Array<Cert>] one for each key, as last read
      def certs = @keys.values.map { |file| @entries[file].cert }

      def problems
        found = @entries.values.filter_map(&:problem)
        found += @entries.filter_map { |file, entry| duplicate(file, entry) if entry.cert }
        found + @unread
      end

      private

      # Of several files with the same key or name, the first by file name is used.
      def rebuild
        @keys = {}
        @names = {}
        @entries.each do |file, entry|
          next unless entry.cert
          next if @keys.key?(entry.key)
          @keys[entry.key] = file
          @names[entry.cert.name] ||= file
        end
      end

      # Returns the certificate of the file that the block names: the first with the wanted key or
      # name. If that file has changed, another file may be the first, so the block runs again.
      def confirmed
        TRIES.times do
          file = yield or return
          entry = @entries[file]
          now = current(file, entry)
          return entry.cert if now.equal?(entry)
          now ? @entries[file] = now : @entries.delete(file)
          rebuild
        end
        nil
      end

      def scanned(file, known)
        current(file, known)
      rescue CertError => error
        @unread << error.message
        known
      end

      # @return [Entry, nil] `known` if the file is unchanged, else a new Entry; nil: no such file
      def current(file, known)
        path = known ? known.path : Cert.join(@dir, file)
        stat = File.stat(path)
        return known if known && !known.racy && known.facts.eql?(facts(stat))
        fresh = read(path, stat)
        return fresh unless known && %i[facts cert problem].all? { |one| known[one] == fresh[one] }
        known.racy = fresh.racy
        known
      rescue Errno::ENOENT, Errno::ENOTDIR
        nil
      rescue *LASTING => error
        Entry.new(nil, nil, Cert::Files.failure(path, Runtime.strerror(error.errno)).message, path)
      rescue SystemCallError => error
        raise Cert::Files.failure(path, Runtime.strerror(error.errno)), cause: nil
      end

      def read(path, stat)
        unless stat.file?
          problem = Cert::Files.failure(path, "it is no regular file").message
          return Entry.new(nil, nil, problem, path, facts(stat), false)
        end
        cert, stat = Cert::Parser.load(path)
        Entry.new(cert, Z85.decode(cert.public_key), nil, path, facts(stat),
          Cert::Files.racy?(stat))
      rescue CertError => error
        raise error.cause if error.cause.is_a?(SystemCallError)
        Entry.new(nil, nil, error.message, path, facts(stat), Cert::Files.racy?(stat))
      end

      def facts(stat) = Cert::Files.facts(stat)

      def duplicate(file, entry)
        first = @keys[entry.key]
        return if first == file
        Cert::Files.failure(
          File.join(@dir, file),
          "it has the same key as #{Cert::Files.shown(first)}, which counts: remove one of them"
        ).message
      end
    end
  end
end
