# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # Reads and writes parts of a record's header. ext/godwit/logger_header.c does the same, faster.
    module Header
      # The start of every header that Godwit writes. The readers extract fields by offset.
      START =
        /\A\{"v":1,"writer":"\h{32}","seq":[1-9]\d{0,18},"tseq":[1-9]\d{0,18},"t_ns":\d{1,19},/
      SEQ_AT = 57 # offset of the seq in it
      DIGITS = Constants::LOG_DIGITS # digits of the largest number in it

      module_function

      # @return [String, nil] `,"payload":` and the Hash in JSON; nil: {Text} must make it
      def payload(_hash) = nil

      # @return [Integer, nil] number of the record; nil: the header does not begin like {START}
      def seq(header)
        header.byteslice(SEQ_AT, DIGITS).to_i if START.match?(header)
      end
    end
    private_constant :Header
  end
end
