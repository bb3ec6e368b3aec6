# frozen_string_literal: true

require "optparse"

module Godwit
  module CLI
    # Takes each option by its whole name. OptionParser completes `-z` to `--zmq`, and Ruby 3.1's
    # `require_exact` refuses `--size=1`.
    # @private
    class ExactParser < OptionParser
      private

      def complete(kind, name, *)
        search(kind, name) { |switch| return [switch, name] }
        raise InvalidOption.new(name, additional: method(:additional_message).curry[kind])
      end
    end
  end
end
