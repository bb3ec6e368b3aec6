# frozen_string_literal: true

module Godwit
  class Auth
    # The requests that wait for a worker, and the number of running requests of each address. The
    # addresses take turns, one request each. The last free worker gets only requests of addresses
    # without a running request. The caller, {Workers}, holds its lock.
    class RequestQueue
      MAX = 10_000 # requests of all addresses together
      MAX_PER_ADDRESS = 1_000

      def initialize
        @waiting = {} # the requests of each address, first the address whose turn is next
        @running = Hash.new(0)
        @size = 0
      end

      attr_reader :size

      def running = @running.each_value.sum

      # @return [Symbol, nil] why the queue refuses the request: :full or :crowded
      def add(request)
        return :full if @size >= MAX
        list = (@waiting[request.origin] ||= [])
        return :crowded if list.size >= MAX_PER_ADDRESS
        list << request
        @size += 1
        nil
      end

      def dequeue(free)
        origin, list = @waiting.find { |one, _| free > 1 || !@running.key?(one) } if free.positive?
        return unless origin
        @waiting.delete(origin)
        @waiting[origin] = list if list.size > 1
        @size -= 1
        @running[origin] += 1
        list.shift
      end

      def ended(request)
        @running.delete(request.origin) if (@running[request.origin] -= 1).zero?
      end

      # Removes a request. Returns false if the request does not wait.
      def remove(request)
        list = @waiting[request.origin]
        index = list&.index(request) or return false
        list.delete_at(index)
        @size -= 1
        @waiting.delete(request.origin) if list.empty?
        true
      end

      def clear
        @waiting.clear
        @size = 0
      end
    end
    private_constant :RequestQueue
  end
end
