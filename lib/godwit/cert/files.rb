# frozen_string_literal: true

require "securerandom"

module Godwit
  class Cert
    # Files that hold keys and passwords: the reader checks who else may read them, the writer
    # writes them completely or not at all.
    # @private
    module Files
      SECRET_MODE = 0o600
      PUBLIC_MODE = 0o644
      # What root may give to a group: to read.
      GROUP_READ = 0o037
      NOBODY_ELSE = 0o077
      private_constant :GROUP_READ, :NOBODY_ELSE

      module_function

      # @param path [String]
      # @param limit [Integer] bytes
      # @yieldparam text [String] binary; the block tells whether it is a secret
      # @return [Array(String, File::Stat)] the content, binary, and the facts of the open file
      # @raise [CertError]
      def read(path, limit = ZPL::LIMIT)
        File.open(path, File::RDONLY | File::BINARY) do |file|
          stat = file.stat
          raise failure(path, "it is a directory") if stat.directory?
          text = file.read(limit + 1).to_s
          raise failure(path, "it is longer than #{limit} bytes") if text.bytesize > limit
          check_secret(path, stat) if yield(text)
          [text, stat]
        end
      rescue SystemCallError => error
        raise failure(path, words(error))
      end

      # The rule is PostgreSQL's: nobody else may read it, but for a group that root chose.
      # @raise [CertError] with the command that mends it
      def check_secret(path, stat)
        return if stat.pipe? || stat.chardev?
        root = stat.uid.zero?
        return if stat.mode.nobits?(root ? GROUP_READ : NOBODY_ELSE)
        mode = format("%04o", stat.mode & 0o7777)
        raise failure(
          path,
          "others may read this secret (mode #{mode}): chmod 600 #{shell(path)} (pyzmq writes " \
          "secret files with mode 0644; 0640 is allowed if root owns the file)"
        )
      end

      # Writes the files, each completely or not at all.
      # @param files [Hash{String => Array(String, Integer)}] path => content and mode, in order
      # @param replace [Boolean]
      # @raise [CertError] when one exists and `replace` is false, or the system refuses; the files
      #   of this call are gone then, unless they replaced others
      def write(files, replace: false)
        made = []
        files.each do |path, (text, mode)|
          write_one(path, text, mode, replace)
          made << path
        end
        made
      rescue CertError
        made.each { |path| File.unlink(path) } unless replace
        raise
      end

      # @return [CertError]
      def failure(path, problem, operation = :cert)
        CertError.new("#{shown(path)}: #{problem}", operation: operation)
      end

      # @return [String] a path that may stand in a message
      def shown(path) = path.dup.force_encoding(Encoding::UTF_8).scrub("?").tr("\0\n", "??")

      # @return [String] what the system said, without the path
      def words(error) = SystemCallError.new(nil, error.errno).message

      def write_one(path, text, mode, replace)
        folder, name = File.split(path)
        unfinished = File.join(folder, ".#{name}.#{SecureRandom.hex(6)}")
        flags = File::WRONLY | File::CREAT | File::EXCL | File::BINARY
        File.open(unfinished, flags, mode) do |file|
          file.write(text)
          file.fsync
        end
        replace ? File.rename(unfinished, path) : File.link(unfinished, path)
      rescue Errno::EEXIST
        raise failure(path, "this file exists: remove it first, or give replace: true"), cause: nil
      rescue SystemCallError => error
        hint = File.directory?(folder) ? "" : " (make the directory first: mkdir #{shell(folder)})"
        raise failure(path, "#{words(error)}#{hint}"), cause: nil
      ensure
        remove(unfinished)
      end

      def remove(path)
        File.unlink(path) if path && File.exist?(path)
      rescue SystemCallError
        nil
      end

      def shell(path) = shown(path).match?(%r{\A[\w./@%+-]+\z}) ? shown(path) : shown(path).dump
      private_class_method :write_one, :remove, :shell
    end
  end
end
