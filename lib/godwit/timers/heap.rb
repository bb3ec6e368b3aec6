# frozen_string_literal: true

module Godwit
  class Timers
    # A binary heap whose items know their index, so that moving or deleting one is O(log n).
    #
    # An interrupt (`Thread#kill`, `Timeout`, Ctrl-C) may end a change anywhere. Each step swaps two
    # items, so that none is lost or doubled; the next change repairs the order.
    # @private
    class Heap
      def initialize
        @items = []
        @torn = false
      end

      def size = @items.size
      def empty? = @items.empty?
      def to_a = @items.dup

      def first
        repair if @torn
        @items.first
      end

      def push(item)
        change do
          item.index = @items.size
          @items.push(item)
          up(item)
        end
      end

      def delete(item)
        return false unless include?(item)
        change do
          last = @items.last
          swap(item, last) unless item.equal?(last)
          item.index = nil
          @items.pop
          sift(last) unless item.equal?(last)
        end
        true
      end

      # Calls the block, which changes the item's deadline, and moves the item.
      def update(item)
        change do
          yield
          sift(item)
        end
      end

      def include?(item)
        repair if @torn
        !item.index.nil?
      end

      private

      def change
        repair if @torn
        @torn = true
        yield
        @torn = false
      end

      def repair
        @items.uniq!(&:object_id)
        @items.sort! { |one, other| one.before?(other) ? -1 : 1 }
        @items.each_with_index { |item, index| item.index = index }
        @torn = false
      end

      def sift(item)
        down(item) unless up(item)
      end

      def up(item)
        moved = false
        while item.index.positive?
          parent = @items[(item.index - 1) / 2]
          break unless item.before?(parent)
          swap(item, parent)
          moved = true
        end
        moved
      end

      def down(item)
        loop do
          child = smaller_child(item.index)
          break unless child&.before?(item)
          swap(item, child)
        end
      end

      def smaller_child(index)
        left = @items[2 * index + 1]
        right = @items[2 * index + 2]
        right&.before?(left) ? right : left
      end

      def swap(one, other)
        @items[one.index], @items[other.index] = other, one
        one.index, other.index = other.index, one.index
      end
    end
  end
end
