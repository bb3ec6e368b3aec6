# frozen_string_literal: true

module Godwit
  module Compat
    # Ruby gets corrections of a NameError from this class. A script that uses `ZMQ` was written for
    # rbczmq or ffi-rzmq, so the correction is to load a compatibility layer.
    # @private
    class Suggestion
      LAYERS = Runtime.shareable(
        %w[rbczmq ffi_rzmq].map { |name| "ruby -rgodwit/compat/#{name}" }
      )

      def initialize(error)
        @error = error
      end

      def corrections
        return LAYERS if @error.name == :ZMQ
        DidYouMean::NameErrorCheckers.new(@error).corrections
      end

      if defined?(DidYouMean::NameErrorCheckers) && DidYouMean.respond_to?(:correct_error)
        DidYouMean.correct_error(NameError, self)
      end
    end
  end
end
