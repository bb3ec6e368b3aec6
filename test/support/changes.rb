# frozen_string_literal: true

require "fileutils"

module Godwit
  module TestSupport
    # The paths changed since the commit at which bin/test last passed and stored its commit.
    class Changes
      def initialize(root, note: File.join(root, "tmp/test/green"))
        @root = root
        @note = note
      end

      # @return [Array<String>, nil] changed paths, committed or not; nil when no commit is stored
      #   or the stored commit no longer exists
      def paths
        return unless File.exist?(@note)
        changed = git("diff", "--name-only", "--no-renames", File.read(@note).strip) or return
        changed.lines(chomp: true) +
          git("ls-files", "--others", "--exclude-standard").lines(chomp: true)
      end

      # @param globs [Array<String>]
      # @return [Boolean] whether a changed path matches a glob
      def any?(globs)
        (@paths ||= paths || []).any? { |path| globs.any? { |glob| File.fnmatch?(glob, path) } }
      end

      # @return [String, nil] HEAD; nil when the working tree has uncommitted changes
      def commit = (git("rev-parse", "HEAD")&.strip if uncommitted.empty?)

      # @return [Array<String>] lines of `git status`: files that are changed or not tracked
      def uncommitted = git("status", "--porcelain").to_s.lines(chomp: true)

      # Stores the commit, if the working tree has not changed since the tests began.
      # @param begun_at [String, nil] the result of {#commit} when the tests began
      def note_green(begun_at)
        return if begun_at.nil? || begun_at != commit
        FileUtils.mkdir_p(File.dirname(@note))
        File.write(@note, begun_at)
      end

      private

      # @return [String, nil] git's output; nil when git failed
      def git(*arguments)
        text = IO.popen(["git", "-C", @root, *arguments], err: File::NULL, &:read)
        text if $?.success?
      rescue SystemCallError
        nil # git is not installed
      end
    end
  end
end
