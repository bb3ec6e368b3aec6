# frozen_string_literal: true

require_relative "../passwords"
require_relative "../password_file"

module Godwit
  class Auth
    # PLAIN: a name and a password. A rule checks users, then a file of passwords, then a block.
    class Mechanism::Plain < Mechanism
      NAME = "PLAIN"
      CREDENTIALS = 2

      def self.problem(credentials)
        wrong = super and return wrong
        return if credentials.all? { |text| text.bytesize <= User::LONGEST }
        "a name or password is longer than #{User::LONGEST} bytes"
      end

      def self.secret(credentials) = credentials.last

      def initialize(users, file, block)
        unless users || file || block
          raise Errors.of(ArgumentValueError, :plain, "give users:, file: or a block")
        end
        @sources = []
        @sources << Passwords.new(users) if users
        @sources << PasswordFile.new(Cert.path(file, :plain)) if file
        @sources.freeze
        super(block)
      end

      def decide(request, credentials)
        name, password = credentials
        return Decision.refuse(request, "its name is no user id") unless User.id?(name)
        name = User.utf8(name)
        # The rule checks all sources, so that the time of an answer does not depend on the name.
        known = @sources.map { |source| source.match?(name, password) }.any?
        return Decision.grant(request, name, "by its password") if known
        Decision.refuse(request, "its name or password is wrong") unless @block
      end

      private

      def arguments(credentials)
        name, password = credentials
        [User.utf8(name), password.dup.force_encoding(Encoding::UTF_8)]
      end
    end
  end
end
