# frozen_string_literal: true

module Godwit
  module TestSupport
    # For test classes whose tests share a process: a test that does not run owns it, and its
    # `end_shared` ends it after the last test.
    module SharedOwner
      def owner = @owner ||= new("owner")

      def run(...)
        super
      ensure
        @owner&.end_shared
      end
    end
  end
end
