# frozen_string_literal: true

module Godwit
  module TestSupport
    # Ends the process when a test goes past its deadline, saying where every thread is: a hang is
    # the bug that these tests exist to find. One that holds Ruby's lock for good is ended by
    # bin/test, which has a deadline for each stage.
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

        # The test that runs waits for something whose time is not its own.
        # @param seconds [Numeric] that it may take longer
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

      # bin/test asks this way before it kills a stage that is late.
      Signal.trap("QUIT") { dump } unless RUBY_ENGINE == "jruby" # Java writes one by itself
    end
  end
end
