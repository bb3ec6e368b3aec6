# frozen_string_literal: true

require "jruby" if RUBY_ENGINE == "jruby"

module Godwit
  module Backend::FFI
    # Runs Ruby's garbage collector when libzmq holds much memory for frames, which the collector
    # does not see: 3,000 dropped frames of 1 MiB filled 2 GB.
    module Collector
      STEP = 64 << 20 # bytes
      SMALL = 512 # bytes of a frame that is not counted: its Ruby objects are as large

      if RUBY_ENGINE == "jruby"
        Count = java.util.concurrent.atomic.AtomicLong

        # JRuby's own GC.start does nothing.
        def self.run = ::JRuby.gc
      else
        # CRuby switches no thread and runs no finalizer between the read and the write.
        class Count
          attr_reader :get

          def initialize
            @get = 0
          end

          def add_and_get(number) = @get += number
        end

        def self.run = GC.start
      end

      @bytes = Count.new # of the frames that are neither closed nor sent nor collected
      @lowest = 0 # of @bytes since the last run

      class << self
        def made(bytes)
          @bytes.add_and_get(bytes) if bytes >= SMALL
        end

        def gone(bytes)
          return if bytes < SMALL
          now = @bytes.add_and_get(-bytes)
          @lowest = now if now < @lowest
        end

        # No lock is held here. In a program with many live frames the collector runs less often.
        def collect_if_needed
          now = @bytes.get
          return if now <= [STEP, 2 * @lowest].max
          @lowest = now
          run
        end
      end
    end
  end
end
