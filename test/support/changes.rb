# frozen_string_literal: true

require "fileutils"

module Godwit
  module TestSupport
    # What has changed since the last commit at which the gate was green, which a green run notes.
    class Changes
      def initialize(root, note: File.join(root, "tmp/test/green"))
        @root = root
        @note = note
      end

      # @return [Array<String>, nil] paths, committed or not; nil without a note, or when its commit is gone
      def paths
        return unless File.exist?(@note)
        commit = File.read(@note).strip
        changed = git("diff", "--name-only", commit) or return
        changed.lines(chomp: true) + git("ls-files", "--others", "--exclude-standard").lines(chomp: true)
      end

      # @param globs [Array<String>]
      # @return [Boolean] whether a changed path matches one
      def any?(globs)
        (@paths ||= paths || []).any? { |path| globs.any? { |glob| File.fnmatch?(glob, path) } }
      end

      # Notes the commit of the working tree, if all of it is committed.
      def note_green
        return unless git("status", "--porcelain") == ""
        FileUtils.mkdir_p(File.dirname(@note))
        File.write(@note, git("rev-parse", "HEAD"))
      end

      private

      # @return [String, nil] what it printed; nil when it failed
      def git(*arguments)
        text = IO.popen(["git", "-C", @root, *arguments], err: File::NULL, &:read)
        text if $?.success?
      rescue SystemCallError
        nil # no git here
      end
    end
  end
end
