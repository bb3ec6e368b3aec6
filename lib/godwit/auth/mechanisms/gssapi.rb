# frozen_string_literal: true

module Godwit
  class Auth
    # GSSAPI, for which an Auth has no rules.
    class Mechanism::GSSAPI < Mechanism
      NAME = "GSSAPI"
      CREDENTIALS = 1

      def self.without_rule(request, _) = super(request, false)
    end
  end
end
