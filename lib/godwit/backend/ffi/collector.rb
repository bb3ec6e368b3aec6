# frozen_string_literal: true

require "jruby" if RUBY_ENGINE == "jruby"

module Godwit
  module Backend::FFI
    # Ruby's garbage collector does not see the memory that libzmq holds for frames: 3,000 dropped
    # frames of 1 MiB filled 2 GB. So the bytes of frames that were neither closed nor sent are
    # counted, and many of them run the collector.
    module Collector
      STEP = 64 << 20 # bytes
      SMALL = 512 # bytes of a frame that is not counted: its Ruby objects are as large

      if RUBY_ENGINE == "jruby"
        Count = java.util.concurrent.atomic.AtomicLong

        # JRuby's own GC.start does nothing.
        def self.run = ::JRuby.gc
      else
        # CRuby switches no thread and runs no finalizer between reading and writing.
        class Count
          attr_reader :get

          def initialize
            @get = 0
          end

          def add_and_get(number) = @get += number

          def get_and_set(number) = @get.tap { @get = number }
        end

        def self.run = GC.start
      end

      @round = 0
      @fresh = Count.new # bytes of frames made in this round, neither closed nor sent
      @all = Count.new # bytes of all frames

      class << self
        # @return [Integer] the round that the frame was made in
        def made(bytes)
          return @round if bytes < SMALL
          @all.add_and_get(bytes)
          @fresh.add_and_get(bytes)
          @round
        end

        # @param used [Boolean] whether the frame was closed or sent, not collected
        def gone(bytes, round, used:)
          return if bytes < SMALL
          @all.add_and_get(-bytes)
          @fresh.add_and_get(-bytes) if used && round == @round
        end

        # Called without a lock. A program that keeps many frames runs the collector seldom.
        def collect_if_needed
          most = [STEP, @all.get / 2].max
          return if @fresh.get <= most || @fresh.get_and_set(0) <= most # of several threads one
          @round += 1
          run
        end
      end
    end
  end
end
