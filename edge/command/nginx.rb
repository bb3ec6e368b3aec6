# frozen_string_literal: true

require "tmpdir"
require_relative "../../rakelib/support/edge_build"

module GodwitEdge
  # Runs nginx as a child, in a folder that is removed when it has ended.
  class Nginx
    FORWARDED = %w[INT TERM QUIT HUP].freeze
    # What nginx writes before a message of its error log.
    HEAD = %r{\A(?:nginx: )?(?:\d+/\d+/\d+ [\d:]+ )?\[\w+\] (?:\d+\#\d+: )?(?:\*\d+ )?(?:godwit: )?}

    # Builds the module, if it is not built.
    # @return [Nginx]
    # @raise [Failure]
    def self.find
      built = Dir["#{EdgeBuild::ROOT}/tmp/edge/*/#{EdgeBuild::NAME}.so"].any?
      warn "godwit-edge: building the module for nginx" unless built
      new(EdgeBuild.new.build, EdgePrograms.nginx)
    rescue EdgeBuild::Failure, Godwit::DebianSource::Failure => error
      raise Failure, error.message
    end

    # @return [String] path of the module
    attr_reader :module

    # @param module_path [String]
    # @param program [String]
    def initialize(module_path, program)
      @module = module_path
      @program = program
    end

    # Runs it until it ends, and hands it the signals that end or reload it.
    # @param configuration [Proc] gets the folder, and gives nginx.conf's text
    # @yieldparam pid [Integer] when it listens
    # @return [Integer] its status
    def serve(configuration)
      in_folder(configuration) do |prefix|
        early = []
        FORWARDED.each { |name| trap(name) { @pid ? forward(name) : early << name } }
        @pid = start(prefix)
        early.each { |name| forward(name) }
        status = wait_for("#{prefix}/nginx.pid")
        yield @pid unless status
        status ||= Process.wait2(@pid).last
        FORWARDED.each { |name| trap(name, "IGNORE") }
        status.exitstatus || (128 + status.termsig)
      end
    end

    # Runs the application's file once, and prints what nginx logs.
    # @yieldparam prefix [String] the folder; the block gives nginx.conf's text
    # @return [Boolean] whether it has run without an error
    def check(&configuration)
      in_folder(configuration) do |prefix|
        reader, writer = IO.pipe
        pid = start(prefix, err: writer)
        writer.close
        reader.each_line { |line| warn "godwit-edge: #{message(line, prefix)}" }
        _, status = Process.wait2(pid)
        pid = nil
        status.success?
      ensure
        Process.kill("KILL", pid) if pid
      end
    end

    private

    def in_folder(configuration)
      Dir.mktmpdir("godwit-edge-") do |prefix|
        File.write("#{prefix}/nginx.conf", configuration.call(prefix))
        yield prefix
      end
    end

    def start(prefix, **redirections)
      spawn(
        EdgePrograms.env(@program), @program, "-p", "#{prefix}/", "-c", "#{prefix}/nginx.conf",
        "-e", "stderr", in: File::NULL, **redirections
      )
    end

    # The bytes of a message may be any.
    def message(line, prefix)
      line.b.chomp.sub(HEAD, "").sub(/ in #{Regexp.escape(prefix.b)}.*/n, "")
    end

    def forward(signal)
      Process.kill(signal, @pid)
    rescue Errno::ESRCH
      nil
    end

    # nginx writes the file when it listens.
    # @return [Process::Status, nil] a status: it has ended before
    def wait_for(path)
      until File.size?(path)
        _, status = Process.wait2(@pid, Process::WNOHANG)
        return status if status
        sleep 0.01
      end
    end
  end
end
