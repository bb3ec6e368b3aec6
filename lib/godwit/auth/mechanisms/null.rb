# frozen_string_literal: true

module Godwit
  class Auth
    # NULL: the client proves nothing, and `allow` and `deny` alone decide.
    class Mechanism::Null < Mechanism
      NAME = "NULL"
      CREDENTIALS = 0

      def self.without_rule(request, _) = Decision.grant(request, nil, "NULL needs no rule")
    end
  end
end
