# frozen_string_literal: true

require "godwit/godwit_ext"

module Godwit
  module Backend
    # The C extension, ext/godwit.
    # @private
    module Native
      NAME = :native
    end
  end
end
