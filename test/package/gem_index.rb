# frozen_string_literal: true

require "compact_index"
require "digest"
require "rubygems/package"
require "socket"
require "zlib"

module Godwit
  # A server on 127.0.0.1 that serves gems as rubygems.org does, with a compact index.
  class GemIndex
    # Makes a gem in this folder.
    # @yieldparam spec [Gem::Specification]
    # @return [String] path of the gem
    def self.stub(folder, name, platform, version: "1.0")
      spec = Gem::Specification.new(name, version) do |gem|
        gem.platform = platform
        gem.summary = gem.author = "x"
        yield gem if block_given?
      end
      path = "#{folder}/#{spec.file_name}"
      Gem::DefaultUserInteraction.use_ui(Gem::SilentUI.new) do
        Gem::Package.build(spec, true, false, path)
      end
      path
    end

    # @return [Array<String>] paths that clients requested
    attr_reader :requests

    # @param gems [Array<String>] paths of the gems
    def initialize(gems)
      @requests = []
      @files = {"/" => "", **files(gems)}
      @server = TCPServer.new("127.0.0.1", 0)
      @thread = Thread.new { loop { answer(@server.accept) } }
      @thread.report_on_exception = false
    end

    def url = "http://127.0.0.1:#{@server.local_address.ip_port}/"

    def close
      @thread.kill.join
      @server.close
    end

    private

    def files(gems)
      specs = gems.to_h { |path| [path, Gem::Package.new(path).spec] }
      files = {}
      lines = specs.group_by { |_, spec| spec.name }.map do |name, pairs|
        entries = pairs.map { |path, spec| entry(path, spec) }
        info = files["/info/#{name}"] = CompactIndex.info(entries)
        versions = entries.map(&:number_and_platform).join(",")
        "#{name} #{versions} #{Digest::MD5.hexdigest(info)}\n"
      end
      files["/versions"] = "created_at: 2026-01-01T00:00:00Z\n---\n#{lines.join}"
      specs.each do |path, spec|
        name = File.basename(path, ".gem")
        files["/gems/#{name}.gem"] = File.binread(path)
        files["/quick/Marshal.4.8/#{name}.gemspec.rz"] = Zlib::Deflate.deflate(Marshal.dump(spec))
      end
      files
    end

    # The platform comes from the file's name, since RubyGems 3.3 drops -gnu from a spec's platform.
    def entry(path, spec)
      version = spec.version.to_s
      platform = File.basename(path, ".gem").delete_prefix("#{spec.name}-#{version}")
      needs = spec.runtime_dependencies.map do |need|
        CompactIndex::Dependency.new(need.name, need.requirement.to_s)
      end
      CompactIndex::GemVersion.new(
        version, platform[/[^-].*/], Digest::SHA256.file(path).hexdigest, nil, needs,
        spec.required_ruby_version.to_s, spec.required_rubygems_version.to_s
      )
    end

    # Answers one request of a connection, and closes the connection.
    def answer(client)
      method, path = client.gets.to_s.split
      nil until client.gets.to_s.strip.empty?
      @requests << path
      body = @files[path]
      client.write("HTTP/1.1 #{body ? "200 OK" : "404 Not Found"}\r\nConnection: close\r\n" \
        "ETag: \"#{Digest::MD5.hexdigest(body.to_s)}\"\r\n" \
        "Content-Length: #{body.to_s.bytesize}\r\n\r\n")
      client.write(body) if body && method == "GET"
    rescue SystemCallError
      nil # the client has disconnected
    ensure
      client.close
    end
  end
end
