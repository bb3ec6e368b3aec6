# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # The runtime's garbage collector does not see what libzmq holds for frames, so dropped ones
      # would fill the memory before it comes (3,000 of 1 MiB: 2 GB). So their bytes are counted:
      # when many have come since it last ran, and were neither closed nor sent, it is called.
      # @private
      module Collector
        STEP = 64 << 20 # bytes
        SMALL = 512 # frames below are not worth a count: their Ruby objects are as large

        if RUBY_ENGINE == "jruby"
          require "jruby"

          # JRuby's own GC.start does nothing.
          def self.run = ::JRuby.gc

          # A number that threads count up and down, side by side.
          class Count
            def initialize
              @value = java.util.concurrent.atomic.AtomicLong.new
            end

            def add(number) = @value.add_and_get(number)

            def value = @value.get

            # Gives it and begins anew.
            def take = @value.get_and_set(0)
          end
        else
          def self.run = GC.start

          # The same under CRuby's lock: no switch of threads, and no finalizer, comes between
          # reading and writing it.
          class Count
            attr_reader :value

            def initialize
              @value = 0
            end

            def add(number) = @value += number

            def take
              value = @value
              @value = 0
              value
            end
          end
        end

        @round = 0
        @fresh = Count.new # bytes of frames made in this round, neither closed nor sent
        @all = Count.new # bytes of all frames

        class << self
          # @return [Integer] the round that it was made in
          def made(bytes)
            return @round if bytes < SMALL
            @all.add(bytes)
            @fresh.add(bytes)
            @round
          end

          # @param used whether it was closed or sent, not collected
          def gone(bytes, round, used:)
            return if bytes < SMALL
            @all.add(-bytes)
            @fresh.add(-bytes) if used && round == @round
          end

          # Called with no lock held. A program that keeps many frames has it run seldom.
          def relieve
            most = [STEP, @all.value / 2].max
            return if @fresh.value <= most || @fresh.take <= most # only one of several threads
            @round += 1
            run
          end
        end
      end
    end
  end
end
