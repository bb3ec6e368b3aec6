# frozen_string_literal: true

module Godwit
  # A set of objects, compared by identity. The garbage collector may collect each of them.
  # @private
  class WeakSet
    def initialize
      @objects = ObjectSpace::WeakMap.new
    end

    # Sets a key once: Ruby 3.1's WeakMap would store it twice. {#key} names the damage of that.
    def add(object)
      @objects[key(object)] = object unless include?(object)
    end

    def include?(object) = @objects.key?(key(object))

    def to_a = @objects.values

    private

    # JRuby's WeakMap retains its keys. On CRuby the object itself is the key: Ruby 3.1's compaction
    # damages the memory when 30 keys have the same value.
    if RUBY_ENGINE == "jruby"
      def key(object) = object.object_id
    else
      def key(object) = object
    end
  end
  private_constant :WeakSet
end
