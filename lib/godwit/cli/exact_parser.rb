# frozen_string_literal: true

require "optparse"

module Godwit
  module CLI
    # An OptionParser without abbreviations: else -z is --zmq of a command that has no -z.
    # `require_exact` of Ruby 3.1's optparse refuses `--timeout=5`, too.
    # @private
    class ExactParser < OptionParser
      private

      def complete(kind, option, *)
        found = super
        search(kind, option) { return found }
        raise InvalidOption, option
      end
    end
  end
end
