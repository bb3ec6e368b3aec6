# frozen_string_literal: true

module Godwit
  class Auth
    # The result of a rule for one client: an answer, or a block to call.
    # @private
    class Verdict
      GRANTED = 200
      LATER = 300
      REFUSED = 400

      # @return [Integer, nil] ZAP status; nil: the block decides
      attr_reader :status
      # @return [String, nil]
      attr_reader :reason
      # @return [String, nil]
      attr_reader :user_id
      # @return [Proc, nil] takes no arguments, returns a user id or nil
      attr_reader :block

      def self.grant(user_id, reason) = new(GRANTED, reason, user_id)

      def self.refuse(reason) = new(REFUSED, reason)

      # libzmq's client tries again.
      def self.later(reason) = new(LATER, reason)

      def self.ask(&block) = new(nil, nil, nil, block)

      # The error does not quote the id: the block may have returned a part of the password.
      # @param id [Object] the value that a block returned
      # @raise [ArgumentValueError] when the value is no user id
      def self.of(id)
        return refuse("the block knows no such client") if id.nil?
        return grant(User.utf8(id), "by the block") if User.id?(id)
        raise Errors.bad_value(
          :auth, "a user id from a block", "nil, or #{User::ALLOWED}", id, secret: true
        )
      end

      def initialize(status, reason, user_id = nil, block = nil)
        @status = status
        @reason = reason
        @user_id = user_id
        @block = block
        freeze
      end
    end
    private_constant :Verdict
  end
end
