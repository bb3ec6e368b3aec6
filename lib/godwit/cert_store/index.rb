# frozen_string_literal: true

module Godwit
  class CertStore
    # The certificates of a directory by file, key and name. A file counts as unchanged while its
    # facts (inode, size, time of change) are the same. Its user locks.
    # @private
    class Index
      # A file that was read: its certificate and that one's key, or what is wrong with it.
      Entry = Struct.new(:cert, :key, :problem, :path, :facts, :racy)
      # Seconds in which a file may change again without another time of change.
      RACY = 0.1
      # Files of one key or name that are looked at.
      TRIES = 10
      private_constant :Entry, :RACY, :TRIES

      # @param dir [String]
      # @raise [CertError] when the directory cannot be read
      def initialize(dir)
        @dir = dir
        @entries = {}
        @keys = {}
        @names = {}
      end

      # Reads the directory, and of its files those that have changed.
      # @raise [CertError]
      def scan
        files = Dir.children(@dir).select { |file| file.b.end_with?(Cert::PUBLIC) }.sort
        before = @entries
        @entries = {}
        files.each do |file|
          entry = current(file, before[file])
          @entries[file] = entry if entry
        end
        rebuild
      rescue SystemCallError => error
        raise Cert::Files.failure(@dir, Cert::Files.words(error)), cause: nil
      end

      # @param key [String] 32 bytes, binary
      # @return [Cert, nil] confirmed
      def keyed(key) = confirmed { @keys[key] }

      # @return [Cert, nil] confirmed
      def named(name) = confirmed { @names[name] }

      # @return [Array<Cert>] as they were at the last {#scan}, each key once
      def certs = @keys.values.map { |file| @entries[file].cert }

      # @return [Array<String>]
      def problems
        found = @entries.values.filter_map(&:problem)
        found + @entries.filter_map { |file, entry| duplicate(file, entry) if entry.cert }
      end

      private

      # The first file in the order of names counts.
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

      # A file that has changed may give its place to another one. The block names the file.
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

      # @return [Entry, nil] the known one while the file is unchanged; nil: there is no such file
      def current(file, known)
        path = known ? known.path : File.join(@dir, file)
        stat = File.stat(path)
        return known if known && !known.racy && known.facts == facts(stat)
        fresh = read(path, stat)
        return fresh unless known && known.facts == fresh.facts && known.cert == fresh.cert
        known.racy = fresh.racy
        known
      rescue Errno::ENOENT, Errno::ENOTDIR
        nil
      end

      def read(path, stat)
        unless stat.file?
          problem = Cert::Files.failure(path, "it is no regular file").message
          return Entry.new(nil, nil, problem, path, facts(stat), false)
        end
        cert, stat = Cert::Parser.load(path)
        Entry.new(cert, Z85.decode(cert.public_key), nil, path, facts(stat), racy?(stat))
      rescue CertError => error
        Entry.new(nil, nil, error.message, path, facts(stat), racy?(stat))
      end

      # Whatever changes the file changes its ctime, which no program can set.
      def facts(stat) = [stat.ino, stat.size, stat.ctime]

      def racy?(stat) = Time.now - stat.ctime < RACY

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
