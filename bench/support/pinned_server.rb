# frozen_string_literal: true

require "etc"

module Bench
  # A server on a core of its own, with all processes that it starts.
  class PinnedServer
    # One core for the server, the other for what it talks to.
    SERVER, OTHERS = [0, [1, Etc.nprocessors - 1].min].freeze
    TICKS = Etc.sysconf(Etc::SC_CLK_TCK).to_f
    DEADLINE = 120 # seconds until it listens, as Child has

    # Starts servers, and ends them after the block.
    # @yieldparam start [Proc] takes the arguments of {#initialize}
    def self.together
      servers = []
      yield ->(*arguments, **keywords) { new(*arguments, **keywords).tap { |one| servers << one } }
    ensure
      servers.reverse_each(&:stop)
    end

    # @param command [Array<String>]
    # @param port [Integer] on which it will listen
    # @param core [Integer]
    # @param env [Hash]
    def initialize(*command, port:, core: SERVER, env: {})
      @log = Tempfile.new("godwit-bench")
      @pid = Process.spawn(Child::ENVIRONMENT.merge(env), "taskset", "-c", core.to_s, *command,
        in: File::NULL, out: @log, err: @log)
      @waiter = Process.detach(@pid)
      return if Bench.listens?(port, DEADLINE) { @waiter.alive? }
      text = said
      stop
      raise Failure, "#{command.join(" ")} does not listen\n#{text}"
    end

    # @return [Float] seconds of CPU so far
    def cpu
      processes.sum do |pid|
        fields = File.read("/proc/#{pid}/stat").rpartition(")").last.split
        (fields[11].to_i + fields[12].to_i) / TICKS
      end
    end

    def stop
      Process.kill(:TERM, @pid) if @waiter.alive?
      Process.kill(:KILL, @pid) unless @waiter.join(5)
      @waiter.join
      @log.close!
    rescue Errno::ESRCH
      @log.close!
    end

    # @return [String] what it has written
    def said = File.read(@log.path)

    private

    def processes
      children = Hash.new { |hash, pid| hash[pid] = [] }
      Dir["/proc/[0-9]*/stat"].each do |path|
        parent = File.read(path).rpartition(")").last.split[1].to_i
        children[parent] << path[/\d+/].to_i
      rescue Errno::ENOENT, Errno::ESRCH
        next
      end
      family = [@pid]
      family.each { |pid| family.concat(children[pid]) }
    end
  end
end
