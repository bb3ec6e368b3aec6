# frozen_string_literal: true

require "securerandom"

module Godwit
  class Cert
    # Files that hold keys and passwords. The reader checks which users may read a file. The writer
    # writes a file completely or not at all.
    # @private
    module Files
      SECRET_MODE = 0o600
      PUBLIC_MODE = 0o644
      # Mode bits that a secret file must not have. GROUP_READ is for files that root owns, and lets
      # the group read; OWNER_ONLY is for all other files, and lets only the owner read.
      GROUP_READ = 0o037
      OWNER_ONLY = 0o077
      BOM = "\uFEFF".b.freeze # some editors write this byte order mark before the text
      RACY = 0.1 # seconds within which two changes of a file can give the same ctime

      module_function

      # @param pipe [Boolean] whether the path may be a pipe or a device, such as /dev/stdin
      # @yieldparam text [String] binary; the block returns whether the text is a secret
      # @return [Array(String, File::Stat)] the content, binary, and the stat of the open file
      # @raise [CertError] with the system's error as its cause
      def read(path, limit = ZPL::LIMIT, pipe: true)
        # Without NONBLOCK, open would wait for ever at a FIFO that has no writer.
        flags = File::RDONLY | File::BINARY | (pipe ? 0 : File::NONBLOCK)
        File.open(path, flags) do |file|
          stat = file.stat
          raise failure(path, "it is a directory") if stat.directory?
          raise failure(path, "it is no regular file") unless pipe || stat.file?
          text = file.read(limit + 1).to_s
          raise failure(path, "it is longer than #{limit} bytes") if text.bytesize > limit
          text = text.delete_prefix(BOM)
          check_secret(path, stat) if yield(text)
          [text, stat]
        end
      rescue SystemCallError => error
        raise failure(path, Runtime.strerror(error.errno))
      end

      # Facts that change with a file: each change sets its ctime, which no program can choose.
      def facts(stat) = [stat.dev, stat.ino, stat.size, stat.ctime]

      def racy?(stat) = Time.now - stat.ctime < RACY

      # As in PostgreSQL, only the owner may read a secret file; if root owns it, also its group.
      def check_secret(path, stat)
        return if stat.pipe? || stat.chardev?
        root = stat.uid.zero?
        return if stat.mode.nobits?(root ? GROUP_READ : OWNER_ONLY)
        mode = format("%04o", stat.mode & 0o7777)
        raise failure(
          path,
          "others may read this secret (mode #{mode}): chmod 600 #{shell(path)} (pyzmq writes " \
          "secret files with mode 0644; 0640 is allowed if root owns the file)"
        )
      end

      # Writes the files, each completely or not at all. All contents are on disk before the first
      # file gets its name, so that a full disk replaces neither file of a pair.
      # @param files [Hash{String => Array(String, Integer)}] path => content and mode, in order
      # @raise [CertError] when a file exists and `replace` is false, or the system refuses; without
      #   `replace` the files that this call has written are removed then
      def write(files, replace: false)
        made = []
        unfinished = files.to_h { |path, _| [path, temporary(path)] }
        files.each { |path, (text, mode)| fill(path, unfinished[path], text, mode, replace) }
        files.each_key do |path|
          publish(path, unfinished[path], replace)
          made << path
        end
        made
      rescue CertError
        made.each { |path| File.unlink(path) } unless replace
        raise
      ensure
        unfinished&.each_value { |path| remove(path) }
      end

      def failure(path, problem, operation = :cert)
        CertError.new("#{shown(path)}: #{problem}", operation: operation)
      end

      # @return [String] a path for a message, with "?" for each byte that is not UTF-8 and for each
      #   control character
      def shown(path)
        path.dup.force_encoding(Encoding::UTF_8).scrub("?").gsub(/[[:cntrl:]]/, "?")
      end

      def temporary(path)
        folder, name = File.split(path)
        File.join(folder, ".#{name}.#{SecureRandom.hex(6)}")
      end

      def fill(path, unfinished, text, mode, replace)
        raise failure(path, "it is a directory") if replace && File.directory?(path)
        flags = File::WRONLY | File::CREAT | File::EXCL | File::BINARY
        File.open(unfinished, flags, mode) do |file|
          file.write(text)
          file.fsync
        end
      rescue SystemCallError => error
        folder = File.dirname(path)
        hint = File.directory?(folder) ? "" : " (make the directory first: mkdir #{shell(folder)})"
        raise failure(path, "#{Runtime.strerror(error.errno)}#{hint}"), cause: nil
      end

      def publish(path, unfinished, replace)
        replace ? File.rename(unfinished, path) : File.link(unfinished, path)
      rescue Errno::EEXIST
        raise failure(
          path, "this file exists: remove it first (in Ruby, replace: true overwrites it)"
        ), cause: nil
      rescue SystemCallError => error
        raise failure(path, Runtime.strerror(error.errno)), cause: nil
      end

      def remove(path)
        File.unlink(path) if File.exist?(path)
      rescue SystemCallError
        nil
      end

      def shell(path) = shown(path).match?(%r{\A[\w./@%+-]+\z}) ? shown(path) : shown(path).dump
      private_class_method :temporary, :fill, :publish, :remove, :shell
    end
  end
end
