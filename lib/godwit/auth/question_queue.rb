# frozen_string_literal: true

module Godwit
  class Auth
    # The questions that wait for a worker, and how many of each address run. Addresses take turns.
    # The last free worker is for an address that has none. Not thread-safe: {Workers} has the lock.
    # @private
    class QuestionQueue
      # Questions of all addresses together.
      MAX = 10_000
      # Questions of one address.
      MAX_PER_ADDRESS = 1_000

      def initialize
        @waiting = {} # the questions of each address, first the address whose turn is next
        @running = Hash.new(0)
        @size = 0
      end

      # @return [Integer] questions that wait
      attr_reader :size

      # @return [Integer] questions that run
      def running = @running.each_value.sum

      # @param question [Question]
      # @return [Symbol, nil] why the queue refuses the question: :full or :crowded
      def add(question)
        return :full if @size >= MAX
        list = (@waiting[question.origin] ||= [])
        return :crowded if list.size >= MAX_PER_ADDRESS
        list << question
        @size += 1
        nil
      end

      # @param free [Integer] workers
      # @return [Question, nil] the next one, which runs from now on
      def take(free)
        origin, list = @waiting.find { |one, _| free > 1 || !@running.key?(one) } if free.positive?
        return unless origin
        @waiting.delete(origin)
        @waiting[origin] = list if list.size > 1
        @size -= 1
        @running[origin] += 1
        list.shift
      end

      # @param question [Question] one that {#take} returned and that has ended
      def ended(question)
        @running.delete(question.origin) if (@running[question.origin] -= 1).zero?
      end

      # Removes a question if it waits.
      # @param question [Question]
      def remove(question)
        list = @waiting[question.origin]
        index = list&.index(question) or return
        list.delete_at(index)
        @size -= 1
        @waiting.delete(question.origin) if list.empty?
      end

      def clear
        @waiting.clear
        @size = 0
      end
    end
    private_constant :QuestionQueue
  end
end
