# frozen_string_literal: true

module Godwit
  module TestSupport
    # Ends the process when a test exceeds its deadline, and prints every thread's stack: a hang is
    # the bug that these tests exist to find. bin/test, which has a deadline for each stage, ends a
    # process in which a thread keeps Ruby's lock.
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

        # Gives the running test more time, for a wait that does not count.
        # @param seconds [Numeric] more
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
          $stderr = STDERR # a test may have taken it
          warn "", "#{@name} went past its deadline. The threads:"
          dump
          Report.current&.save(hanging: @name)
          exit!(EXIT_STATUS)
        end

        def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end

      # bin/test asks for this before it kills a late stage.
      Signal.trap("QUIT") { dump } unless RUBY_ENGINE == "jruby" # Java prints its stacks by itself
    end
  end
end
