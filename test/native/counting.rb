# frozen_string_literal: true

module Godwit
  module TestSupport
    # The cost of an operation: objects and descriptors.
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
    end
  end
end
