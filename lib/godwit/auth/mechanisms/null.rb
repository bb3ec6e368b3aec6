# frozen_string_literal: true

module Godwit
  class Auth
    # NULL: the client proves nothing. The rules of `allow` and `deny` decide.
    class Mechanism::Null < Mechanism
      NAME = "NULL"
      CREDENTIALS = 0

      def self.without_rule(request, _) = Decision.grant(request, nil, "NULL needs no rule")
    end
  end
end
