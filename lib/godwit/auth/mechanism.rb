# frozen_string_literal: true

require_relative "decision"
require_relative "user"

module Godwit
  class Auth
    # A security mechanism of ZAP, such as CURVE. A frozen instance is the rule of a domain. A
    # subclass has NAME, CREDENTIALS (how many a request has), and either `without_rule`, or
    # `decide` and `arguments` (of the block). If `decide` returns nil, the block decides.
    class Mechanism
      class << self
        def problem(credentials)
          return if credentials.size == self::CREDENTIALS
          "#{self::NAME} has #{self::CREDENTIALS} credentials: got #{credentials.size}"
        end

        # @return [String, nil] the client's key, 32 bytes
        def key(_credentials) = nil

        # @return [String, nil] the credential that no warning may show
        def secret(_credentials) = nil

        # A client that connects before the program has set a rule gets a 300, and tries again.
        def without_rule(request, starting)
          return Decision.later(request, "there is no rule for #{self::NAME} yet") if starting
          Decision.refuse(request, "there is no rule for #{self::NAME}")
        end
      end

      def initialize(block)
        @block = block
        freeze
      end

      # Calls the block. The error does not quote the id that the block returned: it may be a piece
      # of the password.
      def ask(request, credentials)
        id = @block.call(*arguments(credentials), request)
        return Decision.refuse(request, "the block knows no such client") if id.nil?
        return Decision.grant(request, User.utf8(id), "by the block") if User.id?(id)
        raise Errors.bad_value(:auth, "a user id from a block", "nil, or #{User::ALLOWED}", id,
          secret: true)
      end
    end
    private_constant :Mechanism

    # Dir.children and not Dir.glob: a glob fails in a folder such as "app [1]".
    Dir.children("#{__dir__}/mechanisms").sort.each { |file| require_relative "mechanisms/#{file}" }
    # The mechanisms by their names in ZAP: one for each file in auth/mechanisms.
    MECHANISMS = Mechanism.constants.map { |name| Mechanism.const_get(name) }
      .to_h { |mechanism| [mechanism::NAME, mechanism] }.freeze
    private_constant :MECHANISMS
  end
end
