# frozen_string_literal: true

# Waits of fibers.
module Edge
  class << self
    # Suspends the fiber until its ticket has a value.
    # @private
    # @return [Object]
    # @raise [Exception] that is the value
    def wait
      value = Fiber.yield
      raise value if value.is_a?(Exception)
      value
    end

    # @private
    # @param milliseconds [Integer] -1: for ever
    # @return [Object, nil] nil: the time is over
    def sleep(milliseconds)
      _sleep(milliseconds)
      wait
    end

    # Runs blocks at the same time.
    # @param works [Array<#call>] lambdas without parameters
    # @return [Array<Object>] their values, in the order of the arguments
    # @raise [Exception] the first error, when all have ended
    def join(*works)
      works.empty? ? [] : Join.new(works).run
    end
  end

  # Fibers that run works, again and again. They are Tasks: no other fiber may wait, as its
  # `Fiber.yield` would not lead to the loop.
  # @private
  class Fibers
    KEPT = 256 # idle ones

    # @yield the work, with the arguments of {#run}
    def initialize(&work)
      @work = work
      @idle = []
    end

    # In an idle fiber, or in a new one.
    def run(*arguments) = (@idle.pop || make).resume(*arguments)

    private

    # A fiber that an error ends is not in @idle.
    def make
      idle = @idle
      work = @work
      Task.new do |*arguments|
        me = Fiber.current
        while true # standard:disable Style/InfiniteLoop -- loop would rescue StopIteration
          work.call(*arguments)
          arguments = nil # standard:disable Lint/UselessAssignment -- keeps no work alive
          break if idle.size >= KEPT
          idle << me
          arguments = Fiber.yield
        end
      end
    end
  end

  # Works of {Edge.join}.
  # @private
  class Join
    def initialize(works)
      @works = works
      @left = works.size
      @values = []
      @error = nil
    end

    def run
      @ticket = Edge._join
      @works.each_with_index { |work, index| FIBERS.run(self, work, index) }
      Edge.wait
      raise @error if @error
      @values
    end

    def work(work, index)
      @values[index] = work.call
    rescue Exception => error # standard:disable Lint/RescueException -- raised by run
      @error ||= error
    ensure
      @left -= 1
      Edge._wake(@ticket, nil) if @left == 0
    end

    FIBERS = Fibers.new { |join, work, index| join.work(work, index) }
  end
end
