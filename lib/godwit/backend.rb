# frozen_string_literal: true

require_relative "backend/contract"

module Godwit
  # What talks to libzmq: the C extension on CRuby. It supplies the primitives that {Contract} lists.
  # @private
  module Backend
    IMPLEMENTATION = begin
      require_relative "backend/native"
      Native
    end
    Contract.check(IMPLEMENTATION)
  end

  # @return [Symbol] which backend runs: `:native`, the C extension
  BACKEND = Backend::IMPLEMENTATION::NAME
end
