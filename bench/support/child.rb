# frozen_string_literal: true

require "tempfile"

module Bench
  # A program of the benchmarks as a child process: prints JSON lines, has a deadline, is ended by
  # its pid whatever happens.
  class Child
    # Longer than the slowest program takes on a slow machine, in seconds.
    DEADLINE = 120

    # Bundler's hold on us is not theirs: it would slow their start, and C and Python need none of
    # it.
    ENVIRONMENT = {
      "RUBYOPT" => nil, "RUBYLIB" => nil, "BUNDLE_GEMFILE" => nil, "BUNDLE_BIN_PATH" => nil,
      "BUNDLER_SETUP" => nil, "BUNDLER_VERSION" => nil, "PYTHONDONTWRITEBYTECODE" => "1",
      "BENCH_HOLD" => "1"
    }.freeze

    # Starts the children of a run by `start.call(command)` and ends those that are left.
    def self.together
      children = []
      yield ->(*command) { new(*command).tap { |child| children << child } }
    ensure
      children.each(&:end)
    end

    # One child alone, to its last line.
    def self.result(*command) = together { |start| start.call(*command).result }

    # The two ends of a connection: the server says where it is bound, the client connects there;
    # both take the same arguments.
    # @return [Array<Hash>] what the server printed and what the client printed
    def self.pair(server, client, endpoint, *arguments, client_arguments: arguments)
      together do |start|
        first = start.call(*server, endpoint, *arguments)
        second = start.call(*client, first.ready, *client_arguments)
        received = first.result(second)
        second.release
        [received, second.result]
      end
    end

    def initialize(*command)
      @command = command.map(&:to_s)
      @deadline = Bench.now + DEADLINE
      @errors = Tempfile.new("godwit-bench")
      @output, writer = IO.pipe
      @buffer = +""
      reader, @input = IO.pipe
      @pid = Process.spawn(ENVIRONMENT, *@command, in: reader, out: writer, err: @errors)
      [reader, writer].each(&:close)
      @waiter = Process.detach(@pid)
    end

    # The endpoint that the program is bound to.
    def ready = line.fetch("ready") { fail!("said nothing about where it is bound") }

    # Lets a sender go that waits until the receiver has all.
    def release = @input.close

    # What the program printed last; waits for its end. A partner that fails meanwhile is told at
    # once, not at the deadline.
    def result(partner = nil)
      fields = line(partner)
      fail!("took longer than #{DEADLINE} s") unless @waiter.join(left)
      check
      fields
    end

    def end
      Process.kill(:KILL, @pid) if @waiter.alive?
      @waiter.join
      [@input, @output].each(&:close)
      @errors.close!
    rescue Errno::ESRCH
      retry
    end

    # Tells about a failure, if there is one.
    def check
      fail!("failed with #{@waiter.value}") unless @waiter.alive? || @waiter.value.success?
    end

    private

    def line(partner = nil)
      until @buffer.include?("\n")
        fail!("took longer than #{DEADLINE} s") if left.zero?
        @buffer << @output.readpartial(4096) if @output.wait_readable([left, 0.5].min)
        partner&.check
      end
      JSON.parse(@buffer.slice!(0..@buffer.index("\n")))
    rescue EOFError
      @waiter.join(left)
      fail!("ended without a result")
    end

    def left = [@deadline - Bench.now, 0].max

    def fail!(what) = raise(Failure, "#{@command.join(" ")} #{what}\n#{File.read(@errors.path)}")
  end
end
