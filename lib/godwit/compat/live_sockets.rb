# frozen_string_literal: true

module Godwit
  module Compat
    # Finds a layer's sockets without keeping them from being collected. CRuby finds them in the
    # heap, since a WeakMap of Ruby 3.1 does not survive compaction; other Rubies use a WeakSet.
    # @private
    class LiveSockets
      def initialize(socket_class)
        @socket_class = socket_class
        @known = WeakSet.new unless RUBY_ENGINE == "ruby"
        @lock = Mutex.new
      end

      def add(socket)
        @lock.synchronize { @known.add(socket) } if @known
      end

      def to_a
        return ObjectSpace.each_object(@socket_class).to_a unless @known
        @lock.synchronize { @known.to_a }
      end
    end
  end
end
