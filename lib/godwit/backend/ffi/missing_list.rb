# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # What this backend does not do yet: each of these primitives raises UnsupportedError with its name. docs/runtimes.md is made of it.
      # @private
      MISSING = {
        Socket: {primitives: %i[_join _leave _connect_peer _send_to _recv_from], what: "a draft socket type"}
      }.freeze
    end
  end
end
