# frozen_string_literal: true

require_relative "mechanism"
Dir["#{__dir__}/mechanisms/*.rb"].sort.each { |path| require path }

module Godwit
  class Auth
    # The mechanisms by their names in ZAP: one for each file in auth/mechanisms.
    # @private
    MECHANISMS = Mechanism.constants.map { |name| Mechanism.const_get(name) }
      .to_h { |mechanism| [mechanism::NAME, mechanism] }.freeze
    private_constant :MECHANISMS
  end
end
