# frozen_string_literal: true

module Godwit
  module Compat
    # Ruby asks this class what the constant of a NameError may mean: `ZMQ` is that of other gems.
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
