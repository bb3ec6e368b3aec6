# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # Tells a forked child from its parent. A page that the kernel empties in each child holds the
      # process's number: reading that costs a tenth of asking for the number, which is a system
      # call, and no way to fork goes unseen.
      # @private
      module ForkDetector
        # Where no page can be had.
        class Asked
          def get_int32(_offset) = Process.pid
        end

        # Where nothing forks.
        class Single
          def get_int32(_offset) = 1
        end

        BYTES = 4096
        READ_WRITE = 3
        PRIVATE_ANONYMOUS = 0x22
        WIPE_ON_FORK = 18

        class << self
          # @return [Integer] this process's
          def now
            number = PAGE.get_int32(0)
            return number unless number.zero?
            PAGE.put_int32(0, Process.pid)
            Process.pid
          end

          private

          def page
            return Single.new if RUBY_ENGINE == "jruby"
            return Asked.new unless ::FFI::Platform::OS == "linux"
            page = LibC.mmap(nil, BYTES, READ_WRITE, PRIVATE_ANONYMOUS, -1, 0)
            if page.address == ::FFI::Pointer.new(-1).address ||
                LibC.madvise(page, BYTES, WIPE_ON_FORK) != 0
              return Asked.new
            end
            page
          end
        end

        PAGE = page
      end
    end
  end
end
