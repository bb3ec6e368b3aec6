# frozen_string_literal: true

require_relative "mechanism"
# A glob of the whole path fails in a folder such as "app [1]".
Dir.children("#{__dir__}/mechanisms").sort.each { |file| require_relative "mechanisms/#{file}" }

module Godwit
  class Auth
    # The mechanisms by their names in ZAP: one for each file in auth/mechanisms.
    MECHANISMS = Mechanism.constants.map { |name| Mechanism.const_get(name) }
      .to_h { |mechanism| [mechanism::NAME, mechanism] }.freeze
    private_constant :MECHANISMS
  end
end
