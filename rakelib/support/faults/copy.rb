# frozen_string_literal: true

require "bundler"
require "fileutils"

module Faults
  # A copy of the product, which is broken on purpose.
  class Copy
    attr_reader :path

    def initialize(path)
      @path = path
    end

    # @return [self]
    def make(commit)
      FileUtils.rm_rf(@path)
      run("git", "clone", "-q", "--no-checkout", ".", @path)
      run("git", "-C", @path, "checkout", "-q", "--detach", commit)
      %w[vendor .bundle].each { |folder| run("cp", "-al", folder, @path) if File.exist?(folder) }
      FileUtils.mkdir_p("#{@path}/tmp")
      self
    end

    def read(file) = File.read(File.join(@path, file))
    def write(file, text) = File.write(File.join(@path, file), text)

    # Runs a command in the copy, without the bundle of this process. A fault may leave daemons
    # behind, which end with the command.
    # @param seconds [Numeric, nil] after which the command is killed
    # @return [Array(String, Process::Status), Array(String, nil)] output, status; nil: it was late
    def call(*command, env: {}, seconds: nil)
      log = "#{@path}.log"
      options = {:chdir => @path, :in => File::NULL, %i[out err] => log, :pgroup => true}
      thread =
        Process.detach(Bundler.with_unbundled_env { Process.spawn(env, *command, **options) })
      status = thread.join(seconds)&.value
      [File.read(log).scrub, status]
    ensure
      Process.kill(:KILL, -thread.pid) if thread&.alive?
      kill_leftovers
    end

    private

    def run(*command) = system(*command, exception: true)

    def kill_leftovers
      Dir["/proc/[0-9]*/cwd"].each do |cwd|
        Process.kill(:KILL, cwd[/\d+/].to_i) if "#{File.readlink(cwd)}/".start_with?("#{@path}/")
      rescue SystemCallError
        next # the process has ended
      end
    end
  end
end
