# frozen_string_literal: true

module Godwit
  module TestSupport
    # Ends the process when a test exceeds its deadline, and prints every thread's stack. When a
    # thread holds the GVL for ever the watchdog's thread cannot run; then bin/test ends the process
    # at the stage's deadline.
    module Watchdog
      EXIT_STATUS = 124

      @mutex = Mutex.new
      @changed = ConditionVariable.new
      class << self
        def watch(name, seconds)
          start
          @mutex.synchronize do
            @name = name
            @deadline = now + seconds
            @changed.signal
          end
          yield
        ensure
          @mutex.synchronize { @deadline = nil }
        end

        # Extends the deadline of the running test by the time that a child may take to start.
        # @param seconds [Numeric] the additional time
        def allow(seconds)
          @mutex.synchronize { @deadline += seconds if @deadline }
        end

        def dump(io = $stderr)
          io.puts "Running: #{@name || "no test"}"
          Thread.list.each do |thread|
            next if thread.equal?(@thread)
            io.puts "", thread.inspect, *(thread.backtrace || []).map { |line| "  #{line}" }
          end
          io.flush
        end

        private

        def start
          @thread = nil unless @thread&.alive?
          @thread ||= Thread.new { loop { guard } }.tap { |thread| thread.name = "test watchdog" }
        end

        def guard
          @mutex.synchronize do
            left = @deadline && @deadline - now
            return @changed.wait(@mutex, left) unless left && left <= 0
            bite
          end
        end

        def bite
          $stderr = STDERR # a test may have replaced $stderr
          warn "", "#{@name} went past its deadline. The threads:"
          dump
          Report.current&.save(hanging: @name)
          exit!(EXIT_STATUS)
        end

        def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end

      # bin/test sends QUIT before it kills a stage that exceeds its deadline.
      Signal.trap("QUIT") { dump } unless RUBY_ENGINE == "jruby" # Java prints its stacks by itself
    end
  end
end
