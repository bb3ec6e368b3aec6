# frozen_string_literal: true

# The programs of crash_points_test.rb load this file. {CrashPoints.arm} makes the process kill
# itself at a given step. Steps are the moments before and after each call that changes a file or
# sends a message, in all threads together.
module CrashPoints
  @remaining = nil

  class << self
    # @param number [Integer] number of the step; a process with fewer steps ends by itself
    def arm(number)
      [
        [File, Steps.new(%i[syswrite truncate pwrite])],
        [File.singleton_class, Steps.new(%i[truncate rename unlink])],
        [Godwit::Socket, Steps.new(%i[send_nonblock])]
      ].each { |mod, steps| mod.prepend(steps) }
      @remaining = number
    end

    def step
      return unless @remaining
      @remaining -= 1
      Process.kill(:KILL, Process.pid) if @remaining.zero?
    end
  end

  class Steps < Module
    def initialize(names)
      super()
      names.each do |name|
        define_method(name) do |*arguments, **options|
          CrashPoints.step
          super(*arguments, **options).tap { CrashPoints.step }
        end
      end
    end
  end
end
