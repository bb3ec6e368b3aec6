# frozen_string_literal: true

module Godwit
  module TestSupport
    # For test classes whose tests share a process. A separate instance of the class, which runs no
    # test, owns the process; its `end_shared` ends the process after the last test.
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
