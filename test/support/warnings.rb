# frozen_string_literal: true

module Godwit
  module TestSupport
    # Ruby's warnings about our own files; the runner counts each as a failure.
    module Warnings
      ROOT = File.expand_path("../..", __dir__)
      OWN = %r{\A#{Regexp.escape(ROOT)}/(lib|test|examples|bench)/}

      @own = []
      class << self
        attr_reader :own
      end

      # Precedes Ruby's own Warning.warn.
      module Catch
        def warn(message, ...)
          Warnings.own << message.delete_prefix("#{ROOT}/") if OWN.match?(message)
          super
        end
      end
      ::Warning.extend(Catch)
    end
  end
end
