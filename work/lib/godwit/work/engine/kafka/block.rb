# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # Records of a partition that were read from Kafka; each has its own time.
      # @private
      class Block < Work.const_get(:Block)
        TIME = 8 # bytes of a packed time

        # @param offset [Integer] of the first record
        # @param times [String] each record's time as int64, in milliseconds since 1970
        def initialize(bytes, offset, times)
          super(bytes, offset, nil)
          @times = times
        end

        # @param index [Integer] of a record
        # @return [Integer] in milliseconds since 1970; -1: the record has no time
        def time(index) = @times.unpack1("q", offset: TIME * index)

        def bytesize = super + @times.bytesize
      end
    end
  end
end
