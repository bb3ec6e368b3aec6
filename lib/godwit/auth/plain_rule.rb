# frozen_string_literal: true

require_relative "passwords"

module Godwit
  class Auth
    # A rule for PLAIN. It asks users, a file of passwords and a block, in this order.
    # @private
    class PlainRule
      # @raise [ArgumentValueError, ArgumentTypeError, CertError]
      def initialize(users, file, block)
        unless users || file || block
          raise Errors.of(ArgumentValueError, :plain, "give users:, file: or a block")
        end
        @sources = []
        @sources << Passwords.new(users) if users
        @sources << PasswordFile.new(Cert.path(file, :plain)) if file
        @sources.freeze
        @block = block
        freeze
      end

      # @param ask [ZAP::Ask]
      # @return [Verdict]
      def judge(ask)
        name, password = ask.credentials
        return Verdict.refuse("its name is no user id") unless User.id?(name)
        name = User.utf8(name)
        # The rule asks all sources, so that the time does not depend on the name.
        known = @sources.map { |source| source.match?(name, password) }.any?
        return Verdict.grant(name, "by its password") if known
        return Verdict.refuse("its name or password is wrong") unless @block
        block, request = @block, ask.request
        password = password.dup.force_encoding(Encoding::UTF_8)
        Verdict.ask { block.call(name, password, request) }
      end
    end
    private_constant :PlainRule
  end
end
