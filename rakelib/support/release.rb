# frozen_string_literal: true

require "digest"
require "open3"
require "rubygems/package"
require_relative "native_gem"

module Godwit
  # What is open before the gems of a folder are released. Each gem has the commit that it was built
  # from in its metadata, and CHECKED has the sums of the gems that passed package:check.
  class Release
    ROOT = File.expand_path("../..", __dir__)
    CHECKED = "CHECKED"
    SUMS = "SHA256SUMS"

    # @return [String, nil] the commit of a checkout without changes; nil without git, too
    def self.commit(folder = ROOT)
      changes, status = git(folder, "status", "--porcelain")
      git(folder, "rev-parse", "HEAD").first.strip if status.success? && changes.empty?
    rescue Errno::ENOENT
      nil
    end

    def self.git(folder, *words) = Open3.capture2("git", "-C", folder, *words, err: File::NULL)
    private_class_method :git

    # Notes that a gem has passed its check.
    # @param path [String]
    def self.passed(path)
      name = File.basename(path)
      file = "#{File.dirname(path)}/#{CHECKED}"
      lines = File.file?(file) ? File.readlines(file) : []
      others = lines.reject { |line| line.split.last == name }
      File.write(file, [*others, line(path)].join)
    end

    # Writes the sums of a folder's gems of this version.
    def self.write_sums(folder, version)
      gems = Dir["#{folder}/*-#{version}{,-*}.gem"].sort
      File.write("#{folder}/#{SUMS}", gems.map { |path| line(path) }.join)
    end

    # @return [String] as sha256sum prints it
    def self.line(path) = "#{Digest::SHA256.file(path).hexdigest}  #{File.basename(path)}\n"

    # @param folder [String] of the gems
    # @param version [String]
    # @param commit [String, nil]
    # @param changelog [String] its text
    def initialize(folder, version:, commit:, changelog:)
      @folder = folder
      @version = version
      @commit = commit
      @changelog = changelog
    end

    # @return [Array<String>] names of files
    def gems
      ["", "-#{NativeGem::PLATFORM}", "-java"].map { |kind| "godwit-#{@version}#{kind}.gem" } <<
        "godwit-work-#{@version}.gem"
    end

    # @return [Hash{String => Boolean}] condition => whether it is met
    def conditions
      {
        "the head of CHANGELOG.md is #{@version}" =>
          @changelog[/^## \[?([^\]\s]+)/, 1] == @version,
        "the checkout is a commit without changes" => !@commit.nil?,
        **gems.map { |name| of(name, "#{@folder}/#{name}") }.reduce(:merge)
      }
    end

    private

    def of(name, path)
      built = File.file?(path)
      task = "rake package:check#{"_java" if name.end_with?("-java.gem")}"
      {
        "#{name} is built from this commit" =>
          built && !@commit.nil? && Gem::Package.new(path).spec.metadata["commit"] == @commit,
        "#{name} has passed #{task}" => built && listed?(path, CHECKED),
        "#{name} has its sum in #{SUMS}" => built && listed?(path, SUMS)
      }
    end

    def listed?(path, list)
      file = "#{@folder}/#{list}"
      File.file?(file) && File.readlines(file).include?(self.class.line(path))
    end
  end
end
