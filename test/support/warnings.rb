# frozen_string_literal: true

module Godwit
  module TestSupport
    # Ruby's warnings about Godwit's own files. The runner counts each as a failure.
    module Warnings
      ROOT = File.expand_path("../..", __dir__)
      OWN = %r{\A#{Regexp.escape(ROOT)}/(lib|test|examples|bench)/}
      # Ruby 3.4 prints this warning about fiddle, which only tests use.
      LATER = %r{/test/.*will no longer be part of the default gems}

      @own = []
      class << self
        attr_reader :own
      end

      # Overrides Warning.warn.
      module Catch
        def warn(message, ...)
          if OWN.match?(message) && !LATER.match?(message)
            Warnings.own << message.delete_prefix("#{ROOT}/")
          end
          super
        end
      end
      ::Warning.extend(Catch)
    end
  end
end
