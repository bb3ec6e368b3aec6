# frozen_string_literal: true

module Godwit
  module TestSupport
    # The cost of an operation: objects, descriptors, memory.
    module Counting
      private

      # @return [Integer] descriptors of this process
      def descriptors = Dir.children("/proc/self/fd").size

      # @return [Integer] objects that the block allocates
      def objects
        GC.disable
        before = GC.stat(:total_allocated_objects)
        yield
        GC.stat(:total_allocated_objects) - before
      ensure
        GC.enable
      end

      # @param program [String] for a child process
      # @return [Integer] the peak of the program's resident memory, in MB
      def peak_of(program)
        result = assert_child(run_child("#{program}\nputs File.read('/proc/self/status')"))
        result.stdout[/^VmHWM:\s+(\d+)/, 1].to_i / 1024
      end
    end
  end
end
